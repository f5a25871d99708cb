"""How a micro-batch of arrivals is matched with a stored window: three ways and their costs.

The paper's determinant (Eq. 8) chooses per direction between nested loops and a hash join, one
arrival at a time. A micro-batch engine gets n arrivals of A at once and keeps window B as basic
windows that expire as wholes, which gives a third way. Per batch, with B stored tuples of |B|
distinct keys in w basic windows, b tuples that come into the window and as many that leave it:

=======  ==========================================================================================
nested   ``compare * (n * B + b) + again(n) * B + probe * B + call * (w + 1) + invalidate * b``
hash     ``kept(b) + w * probes(n, B / w) + touch * n * B / |B| + invalidate * b``
         ``+ (window + call) * w + mapped * B``
batch    ``made(n) + probes(B, n) + touch * n * B / |B| + call * w + compare * b + invalidate * b``
=======  ==========================================================================================

- *nested*: every arrival is compared with every stored tuple, in blocks of 128 arrivals, so n is
  rounded up to whole blocks; a block with a match is looked at again. With n = rate_a, b = rate_b,
  ``invalidate = compare = C_n`` and nothing else this is Eq. 2.
- *hash*: every basic window has an index, made once and kept in a file; each arrival looks into all
  of them. With one basic window, ``insert = touch = C_h``, the paper's invalidation, a walk through
  a bucket (``invalidate = C_h * B / |B|``), and nothing else this is Eq. 3. Here a basic window is
  dropped as a whole, so its cost does not grow with B.
- *batch*: an index over the arrivals, past which all stored tuples are streamed. It is the hash
  join with the roles exchanged: no index is kept, but every batch passes over the whole window.

What the paper's two constants do not have, for an index of r tuples:

- A part ``found(r) = 1 - exp(-r / |B|)`` of the lookups finds its key, and as many of all |B| keys
  are in the index; exact for uniform keys. A lookup that finds nothing is cheap.
- The more of the index is outside of the caches the dearer is an access:
  ``far(r) = r / (r + 1,000,000)`` of the most that it adds.
- So m lookups cost ``probes(m, r) = m * (probe + far_probe * far(r) + found * found(r))``; to make
  the index costs ``made(r) = build + r * (insert + far_insert * far(r)) + key * |B| * found(r)``,
  and ``kept(r) = made(r) + file + keep * r`` if it is written to a file. In a list, ``again(n) =
  again * n * found(min(n, 128))``.
- Each call from Python costs as much as thousands of comparisons: one per basic window, whatever
  the method.

Without fixed costs and the terms in b, nested is cheaper than hash while ``compare * n * B`` is
less than ``w * probes(n, B / w) + touch * n * B / |B|``. For free lookups that is ``|B| < touch /
compare``, what Eq. 8 says for a slow B. Batch is cheaper than hash once n is about B / w, the
tuples of a basic window. A lookup in an index over the arrivals costs less than one block of
comparisons, so nested is cheaper than batch only while an index is not worth making: for some
thousand stored tuples and up to 128 arrivals.

Costs that all three share, such as reading a basic window, are left out.
"""

from dataclasses import dataclass
from math import ceil, exp
from typing import Final, Literal

from streamjoin.core.kernels.scan import STRIDE
from streamjoin.errors import ConfigError

Method = Literal["nested", "hash", "batch"]
"""How arrivals find their matches: see the module."""

FAR_ROWS: Final = 1_000_000
"""Rows of an index of which half are far, that is, outside of the caches that are quick."""


@dataclass(frozen=True)
class OperationCosts:
    """Nanoseconds of one operation each; the defaults were measured on a server of 2023.

    Parameters
    ----------
    compare
        One tuple compared in a scan (C_n).
    again
        One tuple of a block of the scan that has a match, looked at again.
    probe
        One lookup in an index, or one pass over a list, besides what follows.
    found
        What a lookup costs more if it finds its key.
    far_probe
        What a lookup costs more in an index that no cache holds.
    touch
        One tuple accessed among those with the key that was looked up (C_h).
    insert
        One tuple put into an index.
    key
        What the first tuple of each key costs more.
    far_insert
        What a tuple costs more in an index that no cache holds.
    keep
        One tuple of an index written to a file.
    invalidate
        One tuple expired.
    call
        One call that probes a basic window, or makes a list.
    build
        Making an index, besides its tuples.
    file
        Writing an index to a file, besides its tuples.
    window
        Opening the index of one basic window.
    mapped
        What opening costs for each of its tuples.
    """

    compare: float = 0.055
    again: float = 1.0
    probe: float = 2.8
    found: float = 8.5
    far_probe: float = 20.0
    touch: float = 0.6
    insert: float = 3.5
    key: float = 12.0
    far_insert: float = 50.0
    keep: float = 12.0
    invalidate: float = 1.0
    call: float = 10_000.0
    build: float = 13_000.0
    file: float = 80_000.0
    window: float = 35_000.0
    mapped: float = 0.14


@dataclass(frozen=True)
class Load:
    """What one batch brings for one direction, A to B.

    Parameters
    ----------
    arrivals
        Tuples of A that look for matches.
    stored
        Tuples in window B.
    stored_keys
        Distinct keys among them.
    inserted
        Tuples of B that come into the window.
    n_windows
        Basic windows that window B consists of.
    """

    arrivals: float
    stored: float
    stored_keys: float
    inserted: float
    n_windows: float

    @property
    def matches(self) -> float:
        """Pairs to expect."""
        return self.arrivals * self.stored / max(self.stored_keys, 1)

    def found(self, rows: float) -> float:
        """Part of the lookups in an index of some rows that find their key."""
        return 1 - exp(-rows / max(self.stored_keys, 1))


def costs_of(load: Load, operations: OperationCosts) -> dict[Method, float]:
    """Nanoseconds a batch takes, by method.

    Examples
    --------
    >>> load = Load(10, stored=1000, stored_keys=50, inserted=10, n_windows=4)
    >>> {method: round(ns) for method, ns in costs_of(load, OperationCosts()).items()}
    {}
    """
    n, stored, new, windows = load.arrivals, load.stored, load.inserted, load.n_windows
    ops = operations
    append, expire = ops.compare * new, ops.invalidate * new
    touched = ops.touch * load.matches
    kept = _made(new, load, ops) + (ops.file + ops.keep * new if new else 0)
    lookups = windows * _probes(n, stored / max(windows, 1), load, ops)
    opened = (ops.window + ops.call) * windows + ops.mapped * stored
    streamed = _made(n, load, ops) + _probes(stored, n, load, ops) + ops.call * windows
    return {
        "nested": _scanned(load, ops) + ops.call * (windows + 1) + append + expire,
        "hash": kept + lookups + opened + touched + expire,
        "batch": streamed + touched + append + expire,
    }


def _scanned(load: Load, ops: OperationCosts) -> float:
    """Each stored tuple compared with all arrivals."""
    compared = ceil(load.arrivals / STRIDE) * STRIDE
    again = load.arrivals * load.found(min(load.arrivals, STRIDE))
    return load.stored * (ops.probe + ops.compare * compared + ops.again * again)


def _made(rows: float, load: Load, ops: OperationCosts) -> float:
    """An index over some rows."""
    if not rows:
        return 0.0
    keys = load.found(rows) * max(load.stored_keys, 1)
    return ops.build + rows * (ops.insert + ops.far_insert * _far(rows)) + ops.key * keys


def _probes(lookups: float, rows: float, load: Load, ops: OperationCosts) -> float:
    """Lookups in an index over some rows."""
    return lookups * (ops.probe + ops.far_probe * _far(rows) + ops.found * load.found(rows))


def _far(rows: float) -> float:
    return rows / (rows + FAR_ROWS)


def choose(
    load: Load,
    operations: OperationCosts,
    current: Method | None = None,
    margin: float = 0.25,
) -> Method:
    """The cheapest method; `current` stays unless another is cheaper by more than `margin`.

    The margin keeps a load near a crossover from changing the method with every batch: each change
    to "hash" must first build the indexes of all basic windows. Without arrivals no way is better
    than another, and `current` stays.

    Examples
    --------
    >>> load = Load(40, stored=1000, stored_keys=50, inserted=40, n_windows=4)
    >>> choose(load, OperationCosts()), choose(load, OperationCosts(), current="nested")
    ('batch', 'nested')
    """
    if not 0 <= margin < 1:
        msg = f"margin: got {margin}; allowed: from 0 to less than 1"
        raise ConfigError(msg)
    costs = costs_of(load, operations)
    cheapest = min(costs, key=lambda method: costs[method])
    if current is None:
        return cheapest
    clearly = load.arrivals > 0 and costs[cheapest] < (1 - margin) * costs[current]
    return cheapest if clearly else current
