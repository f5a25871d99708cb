"""How a micro-batch of arrivals is matched with a stored window: three ways and their costs.

The paper's determinant (Eq. 8) chooses per direction between nested loops and a hash join, one
arrival at a time. A micro-batch engine gets n arrivals of A at once and keeps window B as basic
windows that expire as wholes, which gives a third way. Per batch, with B stored tuples of |B|
distinct keys in w basic windows, b tuples that come into the window and as many that leave it:

=======  ==========================================================================================
nested   ``compare * (n * B + b) + invalidate * b``
hash     ``insert * b + (window + probe * n) * w + touch * n * B / |B| + invalidate * b``
batch    ``insert * n + probe * B + touch * n * B / |B| + compare * b + invalidate * b``
=======  ==========================================================================================

- *nested*: every arrival is compared with every stored tuple. With n = rate_a, b = rate_b and
  ``invalidate = compare = C_n`` this is Eq. 2.
- *hash*: every basic window has an index, built once, when it is first probed; each arrival looks
  into all of them. With one basic window, free lookups (``probe = window = 0``), ``insert = touch =
  C_h`` and the paper's invalidation, a walk through a bucket (``invalidate = C_h * B / |B|``), this
  is Eq. 3. Here a basic window is dropped as a whole, so its cost does not grow with B.
- *batch*: an index over the arrivals, past which all stored tuples are streamed. It is the hash
  join with the roles exchanged: no index is kept, but every batch passes over the whole window.

Without the terms in b, nested is cheaper than hash while ``compare * n * B`` is less than
``(window + probe * n) * w + touch * n * B / |B|``. For free lookups that is ``|B| < touch /
compare``, what Eq. 8 says for a slow B. Batch is cheaper than hash once n is about B / w, the
tuples of a basic window, and cheaper than nested once n is about probe / compare.

Fixed costs that all three share, such as reading a basic window, are left out.
"""

from dataclasses import dataclass
from typing import Literal

from streamjoin.errors import ConfigError

Method = Literal["nested", "hash", "batch"]
"""How arrivals find their matches: see the module."""


@dataclass(frozen=True)
class OperationCosts:
    """Nanoseconds of one operation each; the defaults are of the order of a common machine.

    Parameters
    ----------
    compare
        One tuple compared in a scan (C_n).
    insert
        One tuple put into an index.
    probe
        One lookup in an index.
    touch
        One tuple accessed among those with the key that was looked up (C_h).
    invalidate
        One tuple expired.
    window
        Opening the index of one basic window.
    """

    compare: float = 0.4
    insert: float = 25.0
    probe: float = 12.0
    touch: float = 2.0
    invalidate: float = 1.0
    window: float = 20_000.0


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


def costs_of(load: Load, operations: OperationCosts) -> dict[Method, float]:
    """Nanoseconds a batch takes, by method.

    Examples
    --------
    >>> costs_of(Load(10, stored=1000, stored_keys=50, inserted=10, n_windows=4), OperationCosts())
    {'nested': 4014.0, 'hash': 81140.0, 'batch': 12664.0}
    """
    ops = operations
    matches = ops.touch * load.arrivals * load.stored / max(load.stored_keys, 1)
    append, expire = ops.compare * load.inserted, ops.invalidate * load.inserted
    lookups = (ops.window + ops.probe * load.arrivals) * load.n_windows
    return {
        "nested": ops.compare * load.arrivals * load.stored + append + expire,
        "hash": ops.insert * load.inserted + lookups + matches + expire,
        "batch": ops.insert * load.arrivals + ops.probe * load.stored + matches + append + expire,
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
