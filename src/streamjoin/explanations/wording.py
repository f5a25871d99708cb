"""How numbers, conditions and shards are written, whatever the join."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from streamjoin.core.stream import Stream
from streamjoin.shedding.limits import PlanLimits, Shedding

GUESSED_BYTES: Final = 20
"""For a value whose size its type does not say: text, binary, lists, maps."""
BATCH_SECONDS: Final = 1.0
"""How much of the streams a batch is taken to bring, where that matters."""
_NOTHING: Final = 1e-6
_PLACES: Final = {
    "key": "key",
    "index": "index of bands, then checked by the operator",
    "inverted_index": "inverted index of sets",
    "operator": "checked by the operator",
    "spark": "by Spark, after the join",
}


@dataclass(frozen=True)
class Condition:
    """What results must fulfil, and where that is evaluated: one of `_PLACES`."""

    text: str
    place: str

    @property
    def line(self) -> str:
        """The condition with its place in words."""
        return f"{self.text}  ({_PLACES[self.place]})"


@dataclass(frozen=True)
class Shards:
    """How the work is split."""

    n_shards: int
    n_partitions: int
    routing: str  # how rows find their shard
    copies: tuple[int, int] = (1, 1)  # shards to which a left and a right row is sent
    sent: dict[str, int] | None = None  # the same of many streams, in a grid

    def to_dict(self) -> dict[str, Any]:
        """What programs get."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @property
    def text(self) -> str:
        """In words."""
        if self.sent is not None:
            each = ", ".join(f"of {name} to {n}" for name, n in self.sent.items())
            return f"{self.routing}, over {self.n_partitions} partitions; each row {each} of them"
        left, right = (counted(n, "shard") for n in self.copies)
        each = f"each left row is sent to {left}, each right row to {right}"
        if self.copies == (1, 1):
            each = "each row is sent to one shard"
        return f"{self.routing}, over {counted(self.n_partitions, 'partition')}; {each}"

    @property
    def brief(self) -> str:
        """How many there are, and how rows find theirs: for a card."""
        if self.sent is not None:
            return self.text
        noun = "shard" if self.n_shards == 1 else "shards"
        return f"{self.n_shards} {noun}, {self.routing.removeprefix(f'{self.n_shards} ')}"


def counted(n: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "shard"), counted(2000, "shard")
    ('1 shard', '2,000 shards')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])


def aligned(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Cells in columns, each at the side that its letter says.

    Examples
    --------
    >>> aligned([("a", "tuple", "x"), ("abc", "5", "y")], "<><")
    ['a    tuple  x', 'abc      5  y']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    forms = [f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=bool(rows))]
    return ["  ".join(forms).format(*row).rstrip() for row in rows]


def with_rate(name: str, rate: float | None) -> str:
    """A stream with its rate, if that is known."""
    return name if rate is None else f"{name} ({about(rate)} rows/s)"


def write(n: float) -> str:
    """Write a number.

    Examples
    --------
    >>> write(50000.0), write(2.5), write(0.00012), write(0)
    ('50,000', '2.5', '0.00012', '0')
    """
    return f"{n:,.0f}" if n >= 100 else f"{n:.3g}"


def about(n: float) -> str:
    """Write an estimate: three digits of it, and next to nothing as nothing.

    Examples
    --------
    >>> about(10728.3), about(2.5), about(0.00012), about(1e-9)
    ('10,700', '2.5', '0.00012', '0')
    """
    return write(float(f"{n:.3g}")) if n > _NOTHING else "0"


def percent(share: float) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.0000123), percent(0.25), percent(1.0)
    ('0.0012 %', '25 %', '100 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.3g} %"


def format_cpu(us: float) -> str:
    """Write a CPU time.

    Examples
    --------
    >>> format_cpu(0.42), format_cpu(1234.5), format_cpu(2_500_000)
    ('0.42 us', '1.23 ms', '2.5 s')
    """
    if us < 1e3:
        return f"{us:.3g} us"
    return f"{us / 1e3:.3g} ms" if us < 1e6 else f"{us / 1e6:,.3g} s"


def row_bytes(schema: pa.Schema) -> tuple[float, bool]:
    """Bytes of a row, and whether some of them are a guess.

    Examples
    --------
    >>> row_bytes(pa.schema({"k": pa.int64(), "ok": pa.bool_(), "name": pa.string()}))
    (32.125, True)
    """
    sizes = [_value_bytes(kind) for kind in schema.types]
    return sum(size for size, _ in sizes), any(guessed for _, guessed in sizes)


def _value_bytes(kind: pa.DataType) -> tuple[float, bool]:
    if pa.types.is_struct(kind):
        return row_bytes(pa.schema(list(kind)))
    if pa.types.is_null(kind):
        return 0.0, False
    try:
        return kind.bit_width / 8, False
    except ValueError:  # no fixed width: an offset and the value itself
        return 4.0 + GUESSED_BYTES, True


def window_tuples(stream: Stream, rate: float) -> float:
    """Tuples in a stream's window."""
    if stream.window_rows is not None:
        return float(stream.window_rows)
    return rate * stream.window_us / 1e6


def cpu_us_per_second(limits: Shedding | PlanLimits, n_shards: int) -> float | None:
    """CPU time of all shards for each second of the streams; None if it is not limited."""
    cpu_us = limits.cpu_us_per_second
    if limits.cpu_us_per_batch is not None:
        cpu_us = limits.cpu_us_per_batch / BATCH_SECONDS
    return None if cpu_us is None else cpu_us * n_shards
