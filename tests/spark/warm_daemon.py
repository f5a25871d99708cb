"""Python workers that are ready at once: forked from a process that has imported what they need.

A worker of Spark's own daemon takes more than a second of CPU to import it, and there is a new one
after each task that fails. Programs that tests start as users would do have Spark's own.
"""

import importlib
import sys

import pyspark.daemon

NEEDED = (
    "pyarrow.parquet",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "pyspark.worker",
    "streamjoin.spark.multi_processor",
    "streamjoin.spark.processor",
    "streamjoin.spark.table_processor",
)


def warm_up() -> None:
    for name in NEEDED:
        importlib.import_module(name)
    import pyarrow as pa

    from streamjoin.core.keys import hash_keys

    pa.table({"k": ["a"]}).to_pandas(use_threads=False)
    hash_keys([pa.array(["a"]), pa.array([1])])  # the first compiled kernel sets Numba up


if __name__ == "__main__":
    if sys.argv[1] == "pyspark.worker":
        warm_up()
    pyspark.daemon.manager()
