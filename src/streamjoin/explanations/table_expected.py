"""What to expect of a join with a table: hits of the cache, CPU time, what memory would mean."""

from collections.abc import Iterator
from dataclasses import dataclass

from streamjoin.explanations.expected import Expected, percent
from streamjoin.explanations.matches import Basis
from streamjoin.explanations.meanings import PARTS, Meaning, Meanings
from streamjoin.explanations.plan_numbers import about
from streamjoin.explanations.plans import TablePlan
from streamjoin.explanations.samples import Sample
from streamjoin.explanations.state import format_bytes
from streamjoin.explanations.table_words import Sizes, cached_rows
from streamjoin.joins.table.front_stage import BESIDES
from streamjoin.joins.table.measuring import Measured
from streamjoin.joins.table.settings import FRONT_SHARE, LOOK_UP_SHARE, STREAM, TableJoin
from streamjoin.planning.table import ideal_hit_share


@dataclass(frozen=True)
class Asked:
    """How the stream asks for keys.

    Parameters
    ----------
    keys, skew
        How many there are, and the exponent of Zipf's law; 0 for all alike.
    rate
        Rows per second; None if that is not known.
    basis
        Whether that is known of the stream, or assumed.
    text
        In words.
    """

    keys: int
    skew: float
    rate: float | None
    basis: Basis
    text: str

    def hits(self, cached: int) -> float:
        """Share of the rows that a cache answers, if the most frequent keys are in it."""
        return ideal_hit_share(cached, self.keys, self.skew)


def asked(plan: TablePlan, sizes: Sizes, sample: Sample | None) -> Asked:
    """What is known of the stream's keys: of a generated one its law, else that all are alike."""
    mine = [plan.join.stream.names[i] for i in plan.join.keys[STREAM]]
    if sample is not None and mine == [sample.stream.settings.key]:
        keys, skew = sample.stream.keys, sample.stream.skew
        law = f"Zipf's law with exponent {skew:g}" if skew else "all alike"
        return Asked(keys, skew, sample.rate, "sample", f"of {keys:,} keys by {law}, as generated")
    rate = None if sample is None else sample.rate
    text = "if all keys of the table are as frequent; more where some are much more so"
    return Asked(max(1, sizes.rows), 0.0, rate, "assumed", text)


def front_share(join: TableJoin) -> float:
    """Part of the memory that the cache has, to begin with."""
    if not join.is_cached:
        return 0.0
    if join.front_share is not None:
        return join.front_share
    return FRONT_SHARE if join.longest_wait else LOOK_UP_SHARE


def expected_of_table(
    plan: TablePlan, sizes: Sizes, measured: Measured, keys: Asked, cores: int
) -> Expected | None:
    """What comes out and what it takes; None if the rate, or the price of a look-up, is unknown."""
    if keys.rate is None or measured.look_up_us is None:
        return None
    join = plan.join
    hits = keys.hits(cached_rows(plan, sizes, front_share(join)))
    looked_up = keys.rate * (1 - hits)
    taking, looking = join.costs.row * keys.rate / 1e6, looked_up * measured.look_up_us / 1e6
    most = "" if join.how == "left" else " at most: rows whose key is not in the table do not"
    times = "" if plan.access.table.is_unique else ", or more where a key is there several times"
    whole = taking + looking
    return Expected(
        rows_per_second=keys.rate,
        selectivity=None,
        basis=keys.basis,
        cpu_s=whole,
        cores=cores,
        output=f"{about(keys.rate)} rows/s come out{most}{times}",
        cpu=f"{whole:.2g} s for each second of the stream, {percent(whole / cores)} of {cores} "
        f"cores: the cache answers {percent(hits)} of the rows ({keys.text}), {about(looked_up)} "
        "rows/s are looked up",
    )


def meanings_of_table(plan: TablePlan, sizes: Sizes, measured: Measured, keys: Asked) -> Meanings:
    """What memory would mean; of CPU rows are spilled and come later."""
    if measured.look_up_us is None:
        return Meanings((), "without an index memory decides how many rows wait for one scan")
    if not plan.join.is_cached:
        return Meanings((), "without a cache (algorithm) memory hardly matters")
    rows = tuple(_of_memory(plan, sizes, measured.look_up_us, keys))
    return Meanings(
        rows,
        f"hits {keys.text}, once the cache is warm; rows/s by the prices measured now; with too "
        "little CPU rows come later, but none is lost",
    )


def _of_memory(plan: TablePlan, sizes: Sizes, look_up_us: float, keys: Asked) -> Iterator[Meaning]:
    share = front_share(plan.join)
    whole = sizes.rows * (sizes.bytes_per_row + BESIDES) / max(share, 1e-9)
    for part in PARTS:
        hits = keys.hits(int(part * sizes.rows))
        each = plan.join.costs.row + (1 - hits) * look_up_us
        most = plan.n_shards * 1e6 / each
        way = f"{percent(1 - hits)} are looked up; up to {about(most)} rows/s"
        yield Meaning("memory", part, f'memory="{format_bytes(part * whole)}"', way, 1.0)
