"""Which joins a DataFrame has, and what the user said of their streams."""

from collections.abc import Mapping, Sequence

from streamjoin.errors import ConfigError
from streamjoin.explanations.plan_model import Selectivities, StreamRates, check_rates, is_share
from streamjoin.explanations.plans import AnyPlan, JoinPlan, MultiPlan, TablePlan

OfJoin = tuple[float, float] | StreamRates
"""Rows per second (left, right) of two streams; by the name of the stream of many."""
Rates = OfJoin | Mapping[str, OfJoin] | None
"""Rates of a join; or such by the name of the join, where there are several."""
Join = JoinPlan | list[MultiPlan]
"""A join of two streams, or the operators of one of many in order."""


def joins_of(plans: Sequence[AnyPlan]) -> list[Join]:
    """The joins of streams, outermost first as the plans are; operators of one plan together."""
    found: list[Join] = []
    for plan in plans:
        if isinstance(plan, TablePlan):
            continue
        if isinstance(plan, JoinPlan):
            found.append(plan)
            continue
        same = (j for j in found if isinstance(j, list) and j[0].resolved is plan.resolved)
        operators = next(same, None)
        if operators is None:
            found.append(operators := [])
        operators.append(plan)
        operators.sort(key=lambda one: one.step)
    return found


def name_of(join: Join) -> str:
    """Name of a join's counters."""
    return join.name if isinstance(join, JoinPlan) else join[-1].name


def rates_of(rates: Rates, joins: Sequence[Join]) -> dict[str, OfJoin]:
    """Rows per second of the streams of each join, by its name."""
    if rates is None:
        return {}
    known = {name_of(join): join for join in joins}
    if not known:
        msg = f"rates: got {rates!r} for a join with a table; allowed: with joins of streams"
        raise ConfigError(msg)
    named = isinstance(rates, Mapping) and not any(
        isinstance(r, int | float) for r in rates.values()
    )
    first = next(iter(known))
    if not named and len(known) > 1:
        form = "(left, right)" if isinstance(known[first], JoinPlan) else "{'a': 300, ...}"
        msg = f"rates: got {rates!r} for {len(known)} joins; allowed: {{{first!r}: {form}}}"
        raise ConfigError(msg)
    by_name = dict(rates) if named and isinstance(rates, Mapping) else {first: rates}
    for name, of_join in by_name.items():
        join = known.get(name)
        if join is None:
            msg = f"rates: got a join {name!r}; allowed: {', '.join(known)}"
            raise ConfigError(msg)
        if isinstance(join, JoinPlan):
            _check_pair(of_join)
        else:
            check_rates(of_join, join[-1].resolved.tree.names)
    return by_name  # type: ignore[return-value]  # checked


def check_selectivities(selectivities: Selectivities, joins: Sequence[Join]) -> float | None:
    """Refuse selectivities unless it is clear of which join; the number, if of two streams."""
    many = [join for join in joins if isinstance(join, list)]
    if selectivities is None or len(many) == 1:
        return None
    if many or len(joins) != 1:
        msg = f"selectivities: got {selectivities!r} with {len(joins)} joins; allowed: with one"
        raise ConfigError(msg)
    if not is_share(selectivities):
        msg = (
            f"selectivities: got {selectivities!r} with two streams; allowed: the share of pairs "
            "that match, above 0 and up to 1"
        )
        raise ConfigError(msg)
    return float(selectivities)  # type: ignore[arg-type]  # checked


def _check_pair(pair: object) -> None:
    two = isinstance(pair, tuple | list) and len(pair) == 2
    if not two or not all(isinstance(r, int | float) and 0 < r < float("inf") for r in pair):  # type: ignore[attr-defined]
        msg = f"rates: got {pair!r}; allowed: a pair (left, right) of rows per second"
        raise ConfigError(msg)
