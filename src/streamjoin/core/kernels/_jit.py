"""The one place that names Numba: compiled once, kept on disk, free of the interpreter lock."""

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, cast

import numba

from streamjoin.core.kernels._cache import KernelCache

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Kernel(Protocol[P, R]):
    """A compiled function; `py_func` is the same function uncompiled."""

    @property
    def py_func(self) -> Callable[P, R]:
        """The plain Python function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function."""


def njit(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile a function of arrays and numbers on its first call.

    The machine code is kept, as `_cache` says, until any kernel's source changes.

    Examples
    --------
    >>> import numpy as np
    >>> from streamjoin.core.kernels.equi import split_by_shard
    >>> order, begin = split_by_shard.py_func(np.array([7, 8]), n_shards=1)
    >>> order.tolist(), begin.tolist()
    ([0, 1], [0, 2])
    """
    compiled: Any = numba.njit(nogil=True, boundscheck=False)(function)
    if compiled is not function:  # as it is where Numba is told to do nothing
        compiled._cache = KernelCache(function)
    return cast(Kernel[P, R], compiled)
