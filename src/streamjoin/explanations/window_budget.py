"""What a budget means for two streams: what gives way, how it is divided, what remains."""

from dataclasses import dataclass
from typing import Any, Final

from streamjoin._typing import SIDES
from streamjoin.core.window import CELLS, Axis
from streamjoin.durations import format_duration
from streamjoin.explanations.window_expected import Planned, plan_for
from streamjoin.explanations.window_situation import NAMES, Situation
from streamjoin.joins.window.parts import LOOKING_BYTES, LOOKING_ROWS
from streamjoin.joins.window.settings import WindowJoin
from streamjoin.shedding.comparisons import GAMMA, GAMMA_EXACT, MOST_RECEIVING
from streamjoin.shedding.limits import Shedding

_RECEIVING: Final = f"if to receive rows alone takes more than {100 * MOST_RECEIVING:g} % of it"
_MEANINGS: Final = {
    "dropped": "rows beyond that are dropped as they come (dropped_left, dropped_right): they "
    "neither probe nor are remembered",
    "skipped": "first comparisons give way: every row is received and remembered, and the parts of "
    "the windows that yield least for their CPU time are not probed (skipped_left, skipped_right)",
    "then drop": f"{_RECEIVING}, rows are dropped as they come (dropped_left, dropped_right)",
    "then lag": f"{_RECEIVING}, batches take longer and nothing more is left out (lagging)",
    "gate": "; and before they are packed, if reading and shuffling them takes longer than the "
    "streams' own time and there is a folder for such decisions (`hot_keys`)",
    "sample": f"a sample of the remembered rows (at most {LOOKING_ROWS:,} rows and "
    f"{LOOKING_BYTES >> 10} KB of a side and shard) meets all that arrives: it shows what each "
    "part yields, also where nothing is probed, and how many pairs are missing; it takes about "
    f"{100 * GAMMA:g} % of the time for comparisons, {100 * GAMMA_EXACT:g} % while all of them are "
    "made",
    "cut": "rows for which there is no room are forgotten before their window ends, the oldest "
    "first (cut_left, cut_right)",
    "part": "what comes out is a part of the exact result; how many pairs are missing is estimated "
    "(missed)",
    "event time": "a second is one of the streams' own time: a backlog is regulated as the live "
    "streams were",
}
_RATE_SPLITS: Final = {
    "equal": "the same rate of both streams: results grow with the product of the two rates",
    "rate": "in proportion to the rates",
    "inverse-rate": "in inverse proportion to the rates",
    "window": "in proportion to the windows",
    "inverse-window": "in inverse proportion to the windows",
}
_MEMORY_SPLITS: Final = {
    "slower": "memory for the slower stream's window first: each of its rows meets more arrivals",
    "faster": "memory for the faster stream's window first",
    "rate": "memory in proportion to the rates",
    "inverse-rate": "memory in inverse proportion to the rates",
    "equal": "the same memory for both windows",
}
_JOINT_SPLITS: Final = {
    "best": "the division with the most results; as a rule memory for one window and CPU for the "
    "other stream",
    "equal": "the same rate and the same memory for both",
}
_POLICIES: Final = {
    "best": "the basic windows of both sides with the most results for their CPU time first",
    "ra": "the same part of both windows, the newest rows first",
    "ra+tc": "the same part of both windows, of each the most productive basic windows first",
    "ra+jd": "the less productive window gives way first; of each the newest rows first",
    "ra+tc+jd": "the less productive window gives way first; of each the most productive basic "
    "windows first",
}


@dataclass(frozen=True)
class BudgetWords:
    """A join's budget, in words and in numbers."""

    limits: str
    meaning: tuple[str, ...]  # what gives way and what that means
    selective: dict[str, Any] | None  # how comparisons are chosen; None if rows are dropped instead
    split: str | None  # how the limits are divided; None if nothing is to be divided
    planned: Planned | None  # None if no rates are given

    def lines(self) -> list[str | None]:
        """The text, line by line."""
        chosen = () if self.selective is None else self.selective["text"]
        planned = None if self.planned is None else self.planned.text
        return [self.limits, *self.meaning, *chosen, self.split, planned]


def explain_budget(at: Situation) -> BudgetWords | None:
    """Explain the budget of a join; None if it is exact."""
    given, shedding = at.plan.budget, at.join.shedding
    if given is None or shedding is None:
        return None
    words, share, is_selective = _MEANINGS, given.cpu_share, shedding.policy is not None
    regulated = (given.cpu is not None or given.rate is not None) and not is_selective
    cut = given.memory is not None
    meaning = [words["dropped"]] if regulated else []
    if is_selective:
        then = words["then lag" if shedding.lag else "then drop"]
        gate = words["gate"] if shedding.has_gate else ""
        meaning = [words["skipped"], f"{then}{gate}", words["sample"]]
    meaning += [words["cut"], words["part"]] if cut else [words["part"]]
    if share is not None or given.rate is not None:
        meaning.append(words["event time"])
    each = "" if share is None else f"; for each second of the streams {share:.3g} s of each core"
    return BudgetWords(
        limits=f"at most {given.describe()}{each}",
        meaning=tuple(meaning),
        selective=_selective(at.join, shedding) if is_selective else None,
        split=_split(shedding.split, regulated, cut) if regulated or cut else None,
        planned=plan_for(at, shedding) if at.rates_given else None,
    )


def _selective(join: WindowJoin, shedding: Shedding) -> dict[str, Any]:
    """How comparisons are chosen."""
    axis, policy = Axis(join.windows_us), shedding.policy or ""
    numbers, length = (axis.n_basic(0), axis.n_basic(1)), CELLS * axis.cell_us
    worth = tuple(
        None if column is None else join.streams[side].schema.names[column]
        for side, column in zip(SIDES, join.utility, strict=True)
    )
    named = [f"{NAMES[side]}.{name}" for side, name in enumerate(worth) if name is not None]
    return {
        "order": ("selective", "lag" if shedding.lag else "drop"),
        "policy": policy,
        "basic_windows": numbers,
        "basic_window_us": length,
        "utility": worth,
        "text": (
            f"policy {policy}: {_POLICIES[policy]}",
            *([f"a result is worth {' x '.join(named)} (utility)"] if named else []),
            f"basic windows: {numbers[0]} of the left and {numbers[1]} of the right window, "
            f"{format_duration(length)} each; of the last one that fits a part is probed, in steps "
            f"of 1/{CELLS}",
        ),
    }


def _split(split: str, regulated: bool, cut: bool) -> str:
    """How what there is gets divided, and why."""
    if not cut:
        how = _RATE_SPLITS["equal" if split == "best" else split]
    elif not regulated:
        how = _MEMORY_SPLITS["slower" if split == "best" else split]
    elif split in _JOINT_SPLITS:
        how = _JOINT_SPLITS[split]
    else:
        how = "memory for the {} window, CPU for the {} stream".format(*split.split("/"))
    return f"split {split}: {how}; what one side cannot use goes to the other"
