"""The joins of many streams as cards."""

from streamjoin.explanations.cards import checked, limit, result, shards, stream_lines
from streamjoin.explanations.drawing import Card, Lane
from streamjoin.explanations.plan import PlanExplanation
from streamjoin.explanations.plan_numbers import HalfWayExplanation, about
from streamjoin.explanations.plan_shards import GridShards
from streamjoin.explanations.query import QueryExplanation
from streamjoin.planning.many.tree import Tree


def cards_of_plan(plan: PlanExplanation, query: QueryExplanation | None = None) -> Card:
    """A join of many streams: a tree of joins, or one n-ary join with all streams around it."""
    nary = plan.strategy is not None and plan.strategy.runs == "mjoin"
    tree = None if nary else plan.tree
    operator = _star(plan) if tree is None else _node(plan, tree, tree.root)
    rest = [c.text for c in plan.conditions if c.place == "spark"]
    columns = plan.columns if query is None else query.selected
    return result((*rest, *checked(query)), columns, plan.expected, operator, _share(plan))


def _star(plan: PlanExplanation) -> Card:
    """One n-ary join: whoever drives probes the others in its own order."""
    sequences = None if plan.strategy is None else plan.strategy.sequences
    lanes = [Lane((name, *others)) for name, others in (sequences or {}).items()]
    order = "" if plan.strategy is None else f"order {plan.strategy.order}; "
    return Card(
        "join",
        "n-ary join",
        (*_keys(plan), f"{order}{_shards(plan)}"),
        lanes=tuple(lanes),
        limits=_limits(plan),
        children=tuple(_stream(plan, name) for name in plan.streams),
    )


def _node(plan: PlanExplanation, tree: Tree, node: int) -> Card:
    if node < tree.n_streams:
        return _stream(plan, tree.names[node])
    left, right = tree.children(node)
    ways = (left, right), (right, left)
    is_root = node == tree.root
    found = {} if plan.numbers is None else {one.tuples: one for one in plan.numbers.half_way}
    return Card(
        "join",
        f"join of {tree.label(left)} with {tree.label(right)}",
        (*_keys(plan), _shards(plan)) if is_root else (),
        lanes=tuple(_half_way(tree.label(a), tree.label(b), found) for a, b in ways),
        limits=_limits(plan) if is_root else (),
        children=tuple(_node(plan, tree, child) for child in (left, right)),
    )


def _half_way(tuples: str, probed: str, found: dict[str, HalfWayExplanation]) -> Lane:
    one = found.get(tuples)
    if one is None:
        return Lane((tuples, f"state of {probed}"))
    allowed = "" if one.allowance is None else f", {about(one.allowance)}/s allowed"
    return Lane(
        (tuples, f"state of {probed}"),
        f"{about(one.arriving)} probes/s{allowed}; each finds {about(one.productivity)} of "
        f"{about(found[probed].state)}",
    )


def _stream(plan: PlanExplanation, name: str) -> Card:
    rate = None if plan.numbers is None else plan.numbers.rates[name]
    lines = stream_lines(rate, plan.lengths[name], plan.filters.get(name, ()))
    return Card("stream" if plan.streaming else "table", name, tuple(lines))


def _shards(plan: PlanExplanation) -> str:
    return plan.shards.text if isinstance(plan.shards, GridShards) else shards(plan.shards)


def _keys(plan: PlanExplanation) -> list[str]:
    return [c.text for c in plan.conditions if c.place == "key"]


def _limits(plan: PlanExplanation) -> tuple[str, ...]:
    said = []
    if plan.budget:
        share = None if plan.numbers is None else _share(plan)
        said.append(limit(plan.budget[0], share))
    said += [f"freshness {text.partition(':')[0]}" for text in plan.freshness]
    return tuple(said)


def _share(plan: PlanExplanation) -> float:
    """Part of the results that the budget leaves."""
    planners = () if plan.numbers is None else plan.numbers.planners
    return planners[0].share if planners else 1.0
