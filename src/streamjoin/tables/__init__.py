"""Where the table of a stream-to-table join lives.

Read `base.py`: what a join asks of a table. A folder of Parquet files: `parquet.py`,
`open_parquet.py`, and `parquet_files.py`, read as they are by `row_groups.py` or once for all by
`copies.py`. Its index: `key_index.py` makes it (`key_sort.py` sorts, `index_contents.py` says what
is covered), `index_view.py` searches it (`key_segment.py` for one file). A database: `sql.py`,
`open_sql.py`, and `database.py`, asked in the words of `dialect.py`, `sqlite.py`, `postgresql.py`.
`tries.py`: how long what fails is tried again.
"""
