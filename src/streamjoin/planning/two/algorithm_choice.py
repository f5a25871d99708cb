"""How a micro-batch of arrivals is matched with a stored window: three ways and their costs.

The paper's determinant (Eq. 8) chooses per direction between nested loops and a hash join, one
arrival at a time. A micro-batch engine gets n arrivals of A at once and keeps window B as basic
windows that expire as wholes, which gives a third way. Per batch, with B stored tuples of |B|
distinct keys in w basic windows, b tuples that come into the window and as many that leave it:

=======  ==========================================================================================
nested   ``compare * (n * B + b) + again(n) * B + listed * B + call * 2 * w + invalidate * b``
hash     ``kept(b) + w * probes(n, B / w) + touch * n * B / |B| + invalidate * b``
         ``+ (window + call) * w + mapped * B``
batch    ``made(n) + probes(B, n) + touch * n * B / |B| + call * w + compare * b + invalidate * b``
=======  ==========================================================================================

- *nested*: a list is made of each basic window, and every arrival is compared with every stored
  tuple, in blocks of 128; a block with a match is looked at again. With n = rate_a, b = rate_b,
  ``invalidate = compare = C_n`` and nothing else this is Eq. 2.
- *hash*: every basic window has an index, made once and kept in a file; each arrival looks into all
  of them. With one basic window, ``insert = touch = C_h``, the paper's invalidation, a walk through
  a bucket (``invalidate = C_h * B / |B|``), and nothing else this is Eq. 3. Here a basic window is
  dropped as a whole, so its cost does not grow with B.
- *batch*: an index over the arrivals, past which all stored tuples are streamed. It is the hash
  join with the roles exchanged: no index is kept, but every batch passes over the whole window.

What the paper's two constants do not have, for an index of r tuples:

- A part ``p = 1 - exp(-r / |B|)`` of the lookups finds its key, and as many of all |B| keys are in
  the index; exact for uniform keys. What that adds, ``hit(r) = found * p * (2 - p)``, is up to
  twice as much for each if it is rare, and the processor does not expect it.
- The more rows R the indexes of a method have together the more of them is outside of the quick
  caches, and the dearer is an access: ``far(R) = R / (R + 300,000)`` of the most that it adds. R is
  B for "hash" and n for "batch". A lookup has one access, and four more if it finds its key.
- So m lookups cost ``probes(m, r) = m * (probe + hit(r) + far_probe * far(R) * (1 + 4 * p))``. To
  make the index costs ``made(r) = build + r * (insert + far_insert * far(r)) + key * |B| * p``, and
  ``kept(r) = made(r) + file + keep * r`` if it is written to a file. In a list of blocks of r
  tuples, ``again(n) = again * n * p``.
- Each call from Python costs as much as thousands of comparisons: one per basic window, whatever
  the method.

Without fixed costs and the terms in b, nested is cheaper than hash while ``compare * n * B`` is
less than ``w * probes(n, B / w) + touch * n * B / |B|``. For free lookups that is ``|B| < touch /
compare``, what Eq. 8 says for a slow B. Batch is cheaper than hash once n is about B / w, the
tuples of a basic window. Nested is cheaper than batch for few arrivals, about ``(probe - listed) /
compare`` of them: some tens.

Costs that all three share, such as reading a basic window, are left out.
"""

from dataclasses import dataclass
from math import exp
from typing import Final, Literal

from streamjoin.core.kernels.equi_probe import STRIDE
from streamjoin.errors import ConfigError

Method = Literal["nested", "hash", "batch"]
"""How arrivals find their matches: see the module."""
FAR_ROWS: Final = 300_000
"""Rows of indexes of which half are far, that is, outside of the caches that are quick."""


@dataclass(frozen=True)
class OperationCosts:
    """Nanoseconds of one operation each; defaults are of a server with 2 MB of L2 cache a core."""

    compare: float = 0.051  # one tuple compared in a scan (C_n)
    again: float = 0.9  # one tuple of a block of the scan that has a match, looked at again
    listed: float = 1.4  # one tuple put into a list to be scanned
    probe: float = 2.7  # one lookup in an index, besides what follows
    found: float = 6.0  # what a lookup costs more if it finds its key, as most do
    far_probe: float = 4.7  # what an access costs more in an index that no cache holds
    touch: float = 0.55  # one tuple accessed among those with the key that was looked up (C_h)
    insert: float = 5.3  # one tuple put into an index
    key: float = 14.5  # what the first tuple of each key costs more
    far_insert: float = 11.0  # what a tuple costs more in an index that no cache holds
    keep: float = 18.0  # one tuple of an index written to a file
    invalidate: float = 0.5  # one tuple expired
    call: float = 8_600.0  # one call that probes a basic window, or makes a list of it
    build: float = 19_500.0  # making an index, besides its tuples
    file: float = 80_000.0  # writing an index to a file, besides its tuples
    window: float = 38_000.0  # opening the index of one basic window
    mapped: float = 0.16  # what opening costs for each of its tuples
    sort: float = 21.0
    """What a tuple costs more in an index of tuples that are not in order of time."""
    gather: float = 2.3  # one value of a tuple of several streams, copied when the tuple is formed
    visit: float = 35_000.0  # probing a piece in a join of many streams, besides its tuples
    store: float = 8.0
    """One value of a tuple of several streams, stored to be probed in later batches."""
    piece: float = 80_000.0  # storing a piece of such tuples, besides its values, and removing it
    read: float = 60_000.0  # reading a piece of such tuples, besides its values
    load: float = 1.0  # one value of them

    def look_up(self, n: float, rows: float, all_rows: float, keys: float) -> float:
        """Lookups in an index over some rows, one of several that have so many together."""
        hits, far = 1 - exp(-rows / keys), all_rows / (all_rows + FAR_ROWS)
        found = self.found * hits * (2 - hits)
        return n * (self.probe + found + self.far_probe * far * (1 + 4 * hits))

    def fill_index(self, rows: float, keys: float) -> float:
        """Putting rows into an index, besides making it."""
        hits, far = 1 - exp(-rows / keys), rows / (rows + FAR_ROWS)
        return rows * (self.insert + self.far_insert * far) + self.key * keys * hits


@dataclass(frozen=True)
class Load:
    """What one batch brings for one direction, A to B."""

    arrivals: float  # tuples of A that look for matches
    stored: float  # tuples in window B
    stored_keys: float  # distinct keys among them
    inserted: float  # tuples of B that come into the window
    n_windows: float  # basic windows that window B consists of

    @property
    def keys(self) -> float:
        """Distinct keys, at least one."""
        return max(self.stored_keys, 1)

    @property
    def matches(self) -> float:
        """Pairs to expect."""
        return self.arrivals * self.stored / self.keys


def costs_of(load: Load, operations: OperationCosts) -> dict[Method, float]:
    """Nanoseconds a batch takes, by method.

    Examples
    --------
    >>> load = Load(10, stored=1000, stored_keys=50, inserted=10, n_windows=4)
    >>> {method: round(ns) for method, ns in costs_of(load, OperationCosts()).items()}
    {'nested': 79020, 'hash': 286891, 'batch': 58878}
    """
    n, stored, new, windows = load.arrivals, load.stored, load.inserted, load.n_windows
    ops, keys, rows = operations, load.keys, load.stored / max(load.n_windows, 1)
    append, expire = ops.compare * new, ops.invalidate * new
    touched = ops.touch * load.matches
    # each arrival compared with all stored tuples; a block with a match is looked at again
    hits = 1 - exp(-min(rows, STRIDE) / keys)
    scanned = stored * (ops.listed + n * (ops.compare + ops.again * hits))
    kept = ops.build + ops.fill_index(new, keys) + ops.file + ops.keep * new if new else 0.0
    opened = (ops.window + ops.call) * windows + ops.mapped * stored
    made = ops.build + ops.fill_index(n, keys) if n else 0.0
    streamed = made + ops.look_up(stored, n, n, keys) + ops.call * windows
    return {
        "nested": scanned + ops.call * 2 * windows + append + expire,
        "hash": kept + ops.look_up(n * windows, rows, stored, keys) + opened + touched + expire,
        "batch": streamed + touched + append + expire,
    }


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
    >>> load = Load(10, stored=20_000, stored_keys=5_000, inserted=10, n_windows=4)
    >>> choose(load, OperationCosts()), choose(load, OperationCosts(), current="nested")
    ('batch', 'nested')
    """
    if not 0 <= margin < 1:
        raise ConfigError.at("margin", margin, "from 0 to less than 1")
    costs = costs_of(load, operations)
    cheapest = min(costs, key=lambda method: costs[method])
    if current is None:
        return cheapest
    clearly = load.arrivals > 0 and costs[cheapest] < (1 - margin) * costs[current]
    return cheapest if clearly else current
