"""The process that Spark forks Python workers from, with all imported that joins need.

Spark's own daemon imports nothing beforehand: every worker of it takes seconds to import NumPy,
Arrow, pandas and Numba, and there are new ones after each task that fails and each minute without
work. `start_session` sets ``spark.python.daemon.module`` to this one.

A process must have one thread when it forks. Where an import fails or starts another thread, or
threads cannot be counted, Spark's own daemon runs instead.
"""

import gc
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

from streamjoin.errors import EngineError
from streamjoin.spark.worker import redirected, without_archives

NEEDED: Final = (
    "numpy",  # has threads if Spark's tasks have several cores, so it is asked first
    "pyarrow.parquet",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "pyspark.worker",
    "streamjoin.joins.multi.shard",
    "streamjoin.joins.table.shard",
    "streamjoin.joins.window.shard",
    "streamjoin.spark.processor",
)
_THREADS: Final = Path("/proc/self/task")


def warm_up() -> None:
    """Import what joins need, and use what sets itself up when it is first used."""
    # Arrow brings an allocator that would start a thread, though it uses another one.
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    for name in NEEDED:
        import_module(name)
        _require_one_thread()
    import pyarrow as pa

    from streamjoin.core.keys import hash_keys

    pa.table({"k": ["a"]}).to_pandas(use_threads=False)
    hash_keys([pa.array(["a"]), pa.array([1])])  # a compiled kernel
    _require_one_thread()
    gc.collect()
    gc.freeze()  # what workers do not look through stays shared with them


def _require_one_thread() -> None:
    if not _THREADS.is_dir() or len(list(_THREADS.iterdir())) > 1:
        raise EngineError("a process with other threads should not fork")


def _main() -> None:
    sys.path[:] = without_archives(sys.path)
    if sys.argv[1:] == ["pyspark.worker"]:
        try:
            with redirected(1, 2):  # Spark expects the daemon's port there and nothing else
                warm_up()
        except Exception as error:
            sys.stderr.write(f"streamjoin: Spark's own daemon runs instead, for {error!r}\n")
            command = list(sys.orig_argv)
            command[command.index("-m") + 1] = "pyspark.daemon"
            os.execvp(command[0], command)
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    _main()
