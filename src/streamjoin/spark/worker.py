"""What a join does to the Python worker that it runs in."""

import gc
from functools import lru_cache


@lru_cache(maxsize=1)
def settle() -> None:
    """Exempt what is loaded by now from garbage collection, once per process.

    PySpark collects garbage after every task. Numba, pandas and Arrow bring so many objects that
    looking through them takes longer than most of what a join does in a micro-batch; none of them
    is garbage before the worker ends.
    """
    gc.collect()
    gc.freeze()
