"""What to say when a join changes what it does: a budget bites, all is exact again, a new plan."""

from typing import Final

from streamjoin.metrics.model import JoinMetrics

CALM: Final = 3
"""Batches in a row that must do better before it is said: a load at the limit goes to and fro."""

EXACT, IN_PART, TURNING_AWAY = range(3)
AGAIN: Final = "exact again"
NOW: Final = "now by "


class Remarks:
    """Sees the batches of a join and says in one line what changes; most of the time nothing.

    Examples
    --------
    >>> from streamjoin.metrics import InputMetrics
    >>> def batch(compared, skipped, **more):
    ...     left = InputMetrics("left", rows=50, compared=compared[0], skipped=skipped[0])
    ...     right = InputMetrics("right", rows=50, compared=compared[1], skipped=skipped[1])
    ...     return JoinMetrics(inputs=(left, right), **more)
    >>> exact, part = batch((500, 500), (0, 0)), batch((130, 0), (370, 500), selective=2)
    >>> remarks = Remarks()
    >>> for metrics in [exact, part, part, exact, exact, exact]:
    ...     print(remarks.see(metrics))
    None
    load 7.7x the budget, probing 26 % of the left and 0 % of the right window
    None
    None
    None
    exact again

    Of many streams, tuples that probe and those that do not are counted, all together:

    >>> one = InputMetrics("a", rows=50, compared=30, skipped=70)
    >>> Remarks().see(JoinMetrics(kind="plan", inputs=(one,)))
    'probing with 30 % of the tuples'
    """

    def __init__(self) -> None:
        self._mode, self._calm = EXACT, 0
        self._plan = ""

    def see(self, metrics: JoinMetrics) -> str | None:
        """What a batch gives reason to say; of one without rows nothing is learned."""
        if not metrics.rows_in:
            return None
        said = [text for text in (self._planned(metrics), self._limited(metrics)) if text]
        return "; ".join(said) or None

    def _planned(self, metrics: JoinMetrics) -> str | None:
        """Of many streams: another plan. Who drives an n-ary join may change in every batch."""
        if metrics.kind != "plan":
            return None
        before, self._plan = self._plan, metrics.algorithm
        return NOW + metrics.algorithm if before not in ("", metrics.algorithm) else None

    def _limited(self, metrics: JoinMetrics) -> str | None:
        mode = _mode(metrics)
        if mode == EXACT and metrics.missed > 0:
            mode = min(self._mode, IN_PART)  # rows of its windows are missing
        if mode >= self._mode:
            self._calm = 0
            if mode == self._mode:
                return None
        else:
            self._calm += 1
            if self._calm < CALM:
                return None
        before, self._mode, self._calm = self._mode, mode, 0
        said = _said(metrics) if _mode(metrics) else []
        if mode == EXACT:
            said = ["all that was put off is answered" if metrics.table else AGAIN]
        elif before == TURNING_AWAY:
            said = ["there is time to receive all rows again", *said]
        return ", ".join(said)


def _mode(metrics: JoinMetrics) -> int:
    left_out = metrics.left_out
    if left_out.get("dropped") or metrics.lagging:
        return TURNING_AWAY
    puts_off = metrics.table is not None and metrics.table.spilled_rows > 0
    in_part = metrics.selective or left_out.get("cut") or _skips_tuples(metrics) or puts_off
    return IN_PART if in_part else EXACT


def _skips_tuples(metrics: JoinMetrics) -> bool:
    """Whether it is a join of many streams, of which whole tuples do not probe."""
    return bool(metrics.kind == "plan" and metrics.skipped)


def _said(metrics: JoinMetrics) -> list[str]:
    left_out, said = metrics.left_out, []
    dropped, cut = left_out.get("dropped", 0), left_out.get("cut", 0)
    if metrics.lagging:
        said.append("to receive rows alone takes more than the budget")
        said += [] if dropped else ["batches take longer"]
    if metrics.selective:
        said.append(_load(metrics))
    if dropped:
        said.append(f"turning away {dropped:,} of {metrics.rows_in:,} rows")
    if metrics.selective:
        parts = (f"{one.fraction:.0%} of the {one.name}" for one in metrics.inputs)
        said.append(f"probing {' and '.join(parts)} window")
    if _skips_tuples(metrics):
        part = metrics.compared / (metrics.compared + metrics.skipped)
        said.append(f"probing with {part:.0%} of the tuples")
    if cut:
        said.append(f"forgetting {cut:,} rows before their window ends")
    if metrics.table is not None and metrics.table.spilled_rows:
        said.append(f"{metrics.table.spilled_rows:,} rows are put off")
    return [text.replace("%", " %") for text in said]


def _load(metrics: JoinMetrics) -> str:
    """Comparisons of a full join, as a multiple of those that are made."""
    done = metrics.compared
    every = done + metrics.skipped
    return f"load {every / done:.2g}x the budget" if done else "no time for comparisons"
