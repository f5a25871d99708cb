"""Names of columns that SQL, Spark, Arrow, Parquet or a database could take for something else."""

import pyarrow as pa

NASTY = (
    "a.b", "a`b", "a b", "é.ü", "日本", "a'b", 'a"b', "a\\b", "select", "left.x", "1x", "",
    "a\nb", "a\tb", "a=b", "-- a", "a;b,c", "_ahead", "c0",
)  # fmt: skip
"""The first of them are keys and times, and all of them payload."""
KEY, TIME, OTHER_KEY, VALUE = NASTY[:4]
SCHEMA = pa.schema([(name, pa.timestamp("us") if name == TIME else pa.int64()) for name in NASTY])
