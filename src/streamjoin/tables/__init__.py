"""Where the table of a stream-to-table join lives.

Read `base` first: what a join asks of a table; `access`: how processes share one. A folder of
Parquet files: `parquet`, which reads `parquet_files` as they are or once for all as `copies`. Its
index: `key_index` makes it, says what is covered and searches it; `key_segments` are its sorted
files. A database: `sql`, which asks a `database` in the words of `sqlite` or `postgresql`.
`failures`: for how long what fails is tried again.
"""
