"""What to say when a budget begins to bite, and when everything is joined again."""

from typing import Final

from streamjoin.metrics import JoinCounts

CALM: Final = 3
"""Batches in a row that must do better before it is said: a load at the limit goes to and fro."""

EXACT, IN_PART, TURNING_AWAY = range(3)


class Remarks:
    """Sees the batches of a join and says in one line what changes; most of the time nothing.

    Examples
    --------
    >>> remarks = Remarks()
    >>> exact = JoinCounts(rows_left=50, rows_right=50, compared_left=500, compared_right=500)
    >>> part = JoinCounts(rows_left=50, rows_right=50, compared_left=130, skipped_left=370,
    ...                    skipped_right=500, selective=2)
    >>> for batch, counted in enumerate([exact, part, part, exact, exact, exact]):
    ...     print(remarks.see(batch, counted))
    None
    batch 1: load 7.7x the budget, probing 26 % of the left and 0 % of the right window
    None
    None
    None
    batch 5: exact again

    Of many streams, tuples that probe and those that do not are counted, all together:

    >>> Remarks().see(1, JoinCounts(rows_left=50, compared_left=30, skipped_left=70))
    'batch 1: probing with 30 % of the tuples'
    """

    def __init__(self) -> None:
        self._mode, self._calm = EXACT, 0

    def see(self, batch: int, counted: JoinCounts) -> str | None:
        """What a batch gives reason to say; of one without rows nothing is learned."""
        if not counted.rows_left + counted.rows_right:
            return None
        mode = _mode(counted)
        if mode == EXACT and counted.missed > 0:
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
        said = _said(counted) if _mode(counted) else []
        if mode == EXACT:
            said = ["exact again"]
        elif before == TURNING_AWAY:
            said = ["there is time to receive all rows again", *said]
        return f"batch {batch}: {', '.join(said)}"


def _mode(counted: JoinCounts) -> int:
    if counted.dropped_left or counted.dropped_right or counted.lagging:
        return TURNING_AWAY
    in_part = counted.selective or counted.cut_left or counted.cut_right or _skips_tuples(counted)
    return IN_PART if in_part else EXACT


def _skips_tuples(counted: JoinCounts) -> bool:
    """Whether it is a join of many streams, of which whole tuples do not probe."""
    return bool(counted.skipped_left and not counted.selective)


def _said(counted: JoinCounts) -> list[str]:
    dropped, cut = (
        counted.dropped_left + counted.dropped_right,
        counted.cut_left + counted.cut_right,
    )
    said = []
    if counted.lagging:
        said.append("to receive rows alone takes more than the budget")
        said += [] if dropped else ["batches take longer"]
    if counted.selective:
        said.append(_load(counted))
    if dropped:
        said.append(f"turning away {dropped:,} of {counted.rows_left + counted.rows_right:,} rows")
    if counted.selective:
        left, right = counted.fractions
        said.append(f"probing {left:.0%} of the left and {right:.0%} of the right window")
    if _skips_tuples(counted):
        said.append(f"probing with {counted.fractions[0]:.0%} of the tuples")
    if cut:
        said.append(f"forgetting {cut:,} rows before their window ends")
    return [text.replace("%", " %") for text in said]


def _load(counted: JoinCounts) -> str:
    """Comparisons of a full join, as a multiple of those that are made."""
    done = counted.compared_left + counted.compared_right
    skipped = counted.skipped_left + counted.skipped_right
    return f"load {(done + skipped) / done:.2g}x the budget" if done else "no time for comparisons"
