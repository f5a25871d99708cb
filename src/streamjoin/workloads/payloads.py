"""The workloads: what a stream's columns are and hold; and a table of people.

They are the examples of Gedik et al. (2005, section 1). `calls` and `trades`: a call (Pa, Pb, t1)
reached person Pb, a trade (Pb, Sx, t2) was made by Pb; an equi-join on the person within a window
finds hints that Pa may have given Pb about the stock Sx. News of two agencies are similar if the
inner product of their words is large; attacks that two sensors saw are related if enough
descriptors agree. What is popular moves on, and one stream may follow the other: that is a time
correlation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin.workloads.drawing import draw_ranks, draw_sizes

WORDS: Final = pa.map_(pa.string(), pa.float64())
DESCRIPTORS: Final = pa.list_(pa.string())

STORY_WORDS: Final = 12
"""Words that news of one story may have; an item has half of them."""
NEW_WORDS: Final = 5
"""Of those, the words that the story before does not have."""
SYLLABLES: Final = pa.array(
    ["ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu",
     "pa", "re", "si", "to", "vu", "ya", "ze", "bri", "clo", "sta"]
)  # fmt: skip
N_WORDS: Final = len(SYLLABLES) ** 3
MIXED: Final = 2377
"""Has no factor in common with the number of words, so that neighbours look different."""

COMMON: Final = [
    "bank budget company court deal dollar government group market minister oil plan price rate "
    "report share talks trade union vote",
    "agrees buys cuts delays denies ends expects falls grows joins loses offers opens plans rises "
    "says seeks sells warns wins",
    "annual big central early final first foreign high joint last late local low major minor new "
    "private public record weak",
]
"""Words of all stories; an item has one of each line, with a small weight."""

ACTS: Final = ["scan", "probe", "flood", "guess", "spoof", "inject", "overflow", "upload", "hide",
               "beacon"]  # fmt: skip
SERVICES: Final = ["ssh", "smtp", "dns", "http", "ftp", "rdp", "smb", "ldap", "sql", "snmp"]
NAMES: Final = pa.array([f"{act} {service}" for act in ACTS for service in SERVICES])
DESCRIPTORS_OF_AN_ALERT: Final = (5.0, 1.0)
"""Mean and deviation of the number of descriptors, as in the paper's experiments (GED-D1)."""
SYMBOLS = pa.array(["ACME", "BOLT", "CRUX", "DUNE", "ECHO", "FLUX", "GRID", "HALO", "IRIS", "JADE"])
ACTIONS = pa.array(["buy", "sell"])
ROWS_OF_A_GROUP: Final = 10_000
FIRST: Final = pa.array(["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gina", "Hugo", "Ida", "Jan"])
LAST: Final = pa.array(["Adler", "Berg", "Cruz", "Dorn", "Eck", "Falk", "Gold", "Horn", "Iven"])
CITIES: Final = pa.array(["Aachen", "Bergen", "Cork", "Delft", "Essen", "Faro", "Ghent", "Hull"])


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows whose payload is to be made."""

    rng: np.random.Generator
    keys: NDArray[np.int64]  # from 1 to `n_keys`
    turns: NDArray[np.float64]  # which part of its way around all keys the most frequent has gone
    n_keys: int
    skew: float  # exponent of Zipf's law

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class Workload:
    """Names of a stream's key and time columns, and its payload.

    Parameters
    ----------
    key, time
        Names of the key and the event-time column.
    payload
        Arrow fields of the other columns.
    fill
        Makes the payload columns of rows.
    """

    key: str
    time: str
    payload: pa.Schema
    fill: Callable[[Drawn], list[pa.Array]]

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the whole stream: key, time, payload.

        Examples
        --------
        >>> import streamjoin.workloads as w
        >>> w.WORKLOADS["calls"].schema.names
        ['person', 'called_at', 'caller', 'seconds']
        """
        head = [pa.field(self.key, pa.int64()), pa.field(self.time, pa.timestamp("us", tz="UTC"))]
        return pa.schema([*head, *self.payload])


def fill_news(rows: Drawn) -> list[pa.Array]:
    """Words of news with their weights, the squares of which add up to one."""
    rng, n_own = rows.rng, STORY_WORDS // 2
    order = np.argsort(rng.random((len(rows), STORY_WORDS)), axis=1)
    own = rows.keys[:, None] * NEW_WORDS + order[:, :n_own]
    n_words = n_own + len(COMMON)
    weights = rng.random((len(rows), n_words))
    weights[:, :n_own] += 0.5
    weights[:, n_own:] *= 0.3
    weights /= np.sqrt((weights**2).sum(axis=1, keepdims=True))
    words = [_words(own[:, place]) for place in range(n_own)]
    for line in COMMON:
        some = pa.array(line.split())
        words.append(some.take(pa.array(rng.integers(0, len(some), len(rows)))))
    # One column after the other, brought into the order of rows.
    by_row = np.arange(n_words * len(rows)).reshape(n_words, len(rows)).T.reshape(-1)
    offsets = np.arange(0, len(rows) * n_words + 1, n_words, dtype=np.int32)
    in_order = pa.concat_arrays(words).take(pa.array(by_row))
    return [pa.MapArray.from_arrays(offsets, in_order, weights.reshape(-1).round(3))]


def fill_alerts(rows: Drawn) -> list[pa.Array]:
    """Where an attack comes from, how bad it is (1 to 5), the set of its descriptors (GED-D1)."""
    rng, domain = rows.rng, len(NAMES)
    sizes = draw_sizes(rng, len(rows), DESCRIPTORS_OF_AN_ALERT, domain)
    ranks, offsets = draw_ranks(rng, sizes, domain, rows.skew)
    first = np.repeat((rows.turns * domain).astype(np.int64), sizes)
    names = NAMES.take(pa.array((first + ranks) % domain))
    source = rng.integers(1, rows.n_keys + 1, len(rows))
    severity = 1 + rng.binomial(4, 0.2, len(rows)).astype(np.int32)
    sets = pa.ListArray.from_arrays(offsets.astype(np.int32), names)
    return [pa.array(source), pa.array(severity), sets]


def _words(numbers: NDArray[np.int64]) -> pa.Array:
    """Made-up words: three syllables each, a number always the same ones.

    Examples
    --------
    >>> _words(np.array([0, 1, 2])).to_pylist()
    ['bababa', 'haclobri', 'rebrivu']
    """
    n = len(SYLLABLES)
    numbers = numbers * MIXED % N_WORDS
    parts = [SYLLABLES.take(pa.array(numbers // n**place % n)) for place in (2, 1, 0)]
    return pc.binary_join_element_wise(*parts, "")


def _fill_calls(rows: Drawn) -> list[pa.Array]:
    rng, n_rows = rows.rng, len(rows)
    caller = rng.integers(1, rows.n_keys + 1, n_rows)
    seconds = np.minimum(3 + rng.exponential(90.0, n_rows), 7200).astype(np.int32)
    return [pa.array(caller), pa.array(seconds)]


def _fill_trades(rows: Drawn) -> list[pa.Array]:
    rng, n_rows = rows.rng, len(rows)
    symbol = rng.integers(0, len(SYMBOLS), n_rows)
    action = rng.integers(0, len(ACTIONS), n_rows)
    shares = rng.integers(1, 51, n_rows).astype(np.int32) * np.int32(10)
    price = np.round(20 + 10 * symbol + rng.random(n_rows) * 10, 2)
    words = SYMBOLS.take(pa.array(symbol)), ACTIONS.take(pa.array(action))
    return [*words, pa.array(shares), pa.array(price)]


WORKLOADS: Mapping[str, Workload] = {
    "calls": Workload(
        "person", "called_at", pa.schema({"caller": pa.int64(), "seconds": pa.int32()}), _fill_calls
    ),
    "trades": Workload(
        "person",
        "traded_at",
        pa.schema(
            {"symbol": "string", "action": "string", "shares": pa.int32(), "price": pa.float64()}
        ),
        _fill_trades,
    ),
    "news": Workload("story", "printed_at", pa.schema({"words": WORDS}), fill_news),
    "alerts": Workload(
        "target",
        "seen_at",
        pa.schema({"source": pa.int64(), "severity": pa.int32(), "descriptors": DESCRIPTORS}),
        fill_alerts,
    ),
}


def people(rows: int, seed: int = 0) -> pa.Table:
    """People with the numbers 1 to `rows`, in any order.

    Examples
    --------
    >>> table = people(1000, seed=1)
    >>> table.column_names
    ['person', 'name', 'city', 'employer', 'born']
    >>> len(table["person"].unique())
    1000
    """
    rng = np.random.default_rng(seed)
    first, last, city, employer = (
        values.take(pa.array(rng.integers(0, len(values), rows)))
        for values in (FIRST, LAST, CITIES, SYMBOLS)
    )
    person = pa.array(rng.permutation(rows).astype(np.int64) + 1)
    names = pc.binary_join_element_wise(first, last, " ")
    born = pa.array(rng.integers(1940, 2008, rows).astype(np.int16))
    return pa.table(
        {"person": person, "name": names, "city": city, "employer": employer, "born": born}
    )


def write_people(folder: Path, rows: int, seed: int = 0) -> None:
    """Write people into a folder, if there is none; it appears when it is whole."""
    if folder.exists():
        return
    import pyarrow.parquet as pq

    unfinished = folder.with_name(f".{folder.name}.new")
    unfinished.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        people(rows, seed), unfinished / "people.parquet", row_group_size=ROWS_OF_A_GROUP
    )
    unfinished.rename(folder)
