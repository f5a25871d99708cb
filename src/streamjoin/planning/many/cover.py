"""Keep intermediate states fresh at little cost (Mukherji 2011, Section 4.2).

*Refresh rates* (Lemma 1 and Definition 5; JAQ-A20, A21, I8). A tuple of stream I stays in its own
state, then, as part of intermediate results, in the states on its path: for ``|S_j| / r_j`` seconds
each, r_j being the new tuples per second of that state. These times must add up to the freshness
asked for at most. What its own state leaves of it, the *slack*, is shared among the states on the
path, and the shares say how fast each state must be refreshed.

*GH-WMSCP*. The state of an intermediate result goes stale when too little is produced into it. A
state is *covered* when it gets as many new tuples per second as its refresh rate asks for. Whatever
runs along a path refreshes all the states on it, so this is a set cover: paths cost resources,
states are what they cover (JAQ-A22).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from streamjoin.errors import ConfigError
from streamjoin.planning.many.plan_model import Floats, Numbers, PathTable, PlanModel

TOLERANCE: Final = 1e-6
"""Part of a refresh rate that may be missing, as rates are computed with rounding errors."""
ROUNDING: Final = TOLERANCE / 4
"""Part of the resources that a cover may cost too much, as costs are."""
Share = Literal["best", "equal"]
MAX_SHARE_ROUNDS: Final = 4
"""How many times shares are improved by what the cover gives anyway."""


@dataclass(frozen=True, eq=False)
class Refresh:
    """What keeps a plan's results fresh."""

    rates: Floats  # new tuples per second that each state needs (JAQ-A21); 0 where none are needed
    infeasible: str | None = None  # why no rates can keep the results as fresh as asked


@dataclass(frozen=True, eq=False)
class Cover:
    """Resources of each path so that all states are covered."""

    resources: Floats  # resources of each path
    cost: float  # their sum: Delta mu
    infeasible: str | None = None  # why the states cannot be covered
    steps: int = 0  # paths and states looked at on the way (JAQ-C13)


def uncovered(model: PlanModel, allowances: Numbers, refresh: Refresh) -> dict[int, float]:
    """New tuples per second that states lack under these allowances.

    Examples
    --------
    >>> from streamjoin.planning.many.tree import Tree
    >>> tree, sizes = Tree.parse("(a b) c"), [5000, 500, 1000, 200]
    >>> model = PlanModel.of(tree, [500, 700, 600], sizes, [0.001, 0.005])
    >>> refresh = Refresh(np.array([0, 0, 0, 40.0]))
    >>> uncovered(model, [0, 6, 9, 9], refresh), uncovered(model, [0, 8, 0, 0], refresh)
    ({3: 10.0}, {})
    """
    lacking = refresh.rates - model.flow(allowances).produced[:-1]
    nodes = np.flatnonzero(lacking > TOLERANCE * refresh.rates)
    return {int(node): float(lacking[node]) for node in nodes}


def gh_wmscp(
    model: PlanModel, refresh: Refresh, *, capped: bool = True, search: "Search | None" = None
) -> Cover:
    """Cover all states: again and again the path that refreshes most for its price (JAQ-A23).

    Each round runs the path with the most useful new tuples per unit of resources, in states that
    are not covered yet, until one of these is covered or the path has all the tuples of its stream.
    New tuples count in parts of what their state needs. There are at most as many rounds as paths
    and states, and each looks once at every path and state: O(k^2) steps for k streams.

    Parameters
    ----------
    model
        The plan.
    refresh
        What the states need.
    capped
        Whether paths end at the rates of their streams.
    search
        How paths are ranked, if not by new tuples in parts of what their states need.

    Examples
    --------
    The stream with the larger productivity refreshes S_ab for less.

    >>> from streamjoin.planning.many.tree import Tree
    >>> tree, sizes = Tree.parse("(a b) c"), [5000, 500, 1000, 200]
    >>> model = PlanModel.of(tree, [500, 700, 600], sizes, [0.001, 0.005])
    >>> cover = gh_wmscp(model, Refresh(np.array([0, 0, 0, 40.0])))
    >>> cover.resources, round(cover.cost)
    (array([ 0., 48.,  0.]), 48)
    """
    table = PathTable.of(model)
    caps = table.caps if capped else np.full_like(table.caps, np.inf)
    missing = _too_much(table, refresh, caps)
    if missing:
        return Cover(np.zeros_like(caps), 0.0, missing)
    states = np.flatnonzero(refresh.rates)
    # in parts of the need; a path without tuples covers nothing
    needs = refresh.rates[states]
    supply = np.where(caps[:, np.newaxis] > 0, table.inserts[:, states] / needs, 0.0)
    return (search or _greedy)(Covering(supply, caps), needs)


def too_dear(cost: float, mu: float) -> str | None:
    """Say so if a cover costs more than there is."""
    if cost <= mu * (1 + ROUNDING):
        return None
    return (
        f"freshness: keeping intermediate states fresh costs {cost:.4g} a second, "
        f"{cost - mu:.4g} more than the {mu:.4g} there are"
    )


def _too_much(table: PathTable, refresh: Refresh, caps: Floats) -> str | None:
    """Say so if a state needs more than all paths together can give."""
    inserts = table.inserts
    with np.errstate(invalid="ignore"):
        most = np.where(inserts > 0, inserts * caps[:, np.newaxis], 0.0).sum(axis=0)
    needs = np.minimum(refresh.rates, np.finfo(np.float64).max)  # endless ones can be compared
    short = np.where(np.isinf(refresh.rates), np.inf, needs - most)
    if not np.any(short > TOLERANCE * needs):
        return None
    node = int(np.argmax(short))
    label = table.model.tree.label(node)
    return (
        f"freshness: the state of {label!r} needs {refresh.rates[node]:.4g} new "
        f"tuples a second and gets {most[node]:.4g} at most, {short[node]:.4g} too few"
    )


class Covering:
    """What states (columns) still need, in parts of it, and what paths (rows) have left."""

    def __init__(self, supply: Floats, caps: Floats) -> None:
        self.supply = supply
        self.need = np.ones(supply.shape[1])
        self.used = np.zeros_like(caps)
        self.left = caps.copy()
        self.steps = 0

    def run(self, path: int) -> NDArray[np.intp]:
        """Run a path until it covers a state or ends; the states that it covers."""
        supply, need = self.supply[path], self.need
        wanted = np.flatnonzero((need > 0) & (supply > 0))
        amount = min(self.left[path], float(np.min(need[wanted] / supply[wanted])))
        self.used[path] += amount
        self.left[path] -= amount
        need[wanted] -= amount * supply[wanted]
        covered = wanted[need[wanted] <= TOLERANCE / 2]  # rounding must not cost another round
        need[covered] = 0
        return covered

    def cover(self) -> Cover:
        """What was used."""
        return Cover(self.used, float(self.used.sum()), steps=self.steps)


Search = Callable[[Covering, Floats], Cover]
"""Runs paths until all states are covered; told what these need, in tuples per second."""


def _greedy(state: Covering, needs: Floats) -> Cover:
    supply = state.supply
    gains = supply.sum(axis=1)
    summed = gains.copy()
    state.steps = supply.size
    while gains.any():
        path = int(np.argmax(gains))
        covered = state.run(path)
        gains -= supply[:, covered].sum(axis=1)
        if state.left[path] <= 0:
            supply[path] = gains[path] = summed[path] = 0
        # A difference of sums is only as precise as the sums were. Each path is summed anew when
        # its gain has become much smaller, which the range of numbers permits a few times only.
        doubtful = gains < TOLERANCE * summed
        gains[doubtful] = summed[doubtful] = supply[doubtful] @ (state.need > 0)
        state.steps += sum(supply.shape) + supply.shape[1] * int(doubtful.sum())
    return state.cover()


def refresh_rates(
    model: PlanModel, freshness: Sequence[float], *, share: Share = "best"
) -> Refresh:
    """New tuples per second that each state needs.

    Parameters
    ----------
    model
        The plan.
    freshness
        For each stream, for how many seconds after its arrival a tuple may be in results;
        infinity where it does not matter.
    share
        How the slack is shared: "equal" gives the same time to each state on a path (JAQ-I8).
        "best" takes that of several ways whose cover costs least, so it never costs more: equal
        times; times as in a plan where all tuples probe; times that are best if each state is
        refreshed by a path of its own; and each of these changed to what its cover gives anyway.

    Examples
    --------
    Freshness of 1.5 times the window of a (JAQ-U4):

    >>> from streamjoin.planning.many.tree import Tree
    >>> tree, sizes = Tree.parse("(a b) c"), [5000, 500, 1000, 200]
    >>> model = PlanModel.of(tree, [500, 700, 600], sizes, [0.001, 0.005])
    >>> refresh_rates(model, [15, np.inf, np.inf]).rates
    array([ 0.,  0.,  0., 40.])
    >>> refresh_rates(model, [9, np.inf, np.inf]).infeasible
    "freshness: got 9 s for 'a', 1 s too little; allowed: more than the 10 s that its state lasts"
    """
    if len(freshness) != model.tree.n_streams or not all(asked > 0 for asked in freshness):
        raise ConfigError.at("freshness", list(freshness), "one positive number for each stream")
    asked = np.asarray(freshness, dtype=np.float64)
    slack = np.subtract(asked, _stays(model), out=asked.copy(), where=np.isfinite(asked))
    infeasible = _too_short(model, asked, slack)
    if infeasible:
        return Refresh(np.zeros(model.tree.root), infeasible)
    equal = _rates(model, slack, np.ones(model.tree.root))
    if share == "equal" or not equal.rates.any():
        return equal
    ways = [equal, *(_rates(model, slack, weights) for weights in _ways(model))]
    return min((_improved(model, slack, way) for way in ways), key=itemgetter(0))[1]


def _stays(model: PlanModel) -> Floats:
    """Seconds that a tuple stays in the state of its own stream."""
    k = model.tree.n_streams
    sizes, rates = model.sizes[:k], model.rates
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > 0, sizes / rates, 0.0)


def _too_short(model: PlanModel, asked: Floats, slack: Floats) -> str | None:
    """Say so if a stream's own state keeps tuples too long.

    A stream whose only join is the root needs no slack.
    """
    needs = np.array([len(path) > 1 for path in model.tree.paths])
    wrong = (slack < 0) | (needs & (slack <= 0))
    if not wrong.any():
        return None
    stream = int(np.argmin(np.where(wrong, slack, np.inf)))
    stays = _stays(model)[stream]
    return (
        f"freshness: got {asked[stream]:.4g} s for {model.tree.names[stream]!r}, "
        f"{stays - asked[stream]:.4g} s too little; allowed: "
        f"{'more than' if needs[stream] else 'at least'} the {stays:.4g} s that its state lasts"
    )


def _rates(model: PlanModel, slack: Floats, weights: Floats) -> Refresh:
    """Share the slack of each stream in proportion to weights; the hardest stream decides."""
    rates = np.zeros(model.tree.root)
    weights = np.where(model.sizes > 0, weights, 0.0)
    for stream, path in enumerate(model.tree.paths):
        states = [node for node in path[1:] if weights[node] > 0]
        if states and slack[stream] < np.inf:
            times = slack[stream] * weights[states] / weights[states].sum()
            rates[states] = np.maximum(rates[states], model.sizes[states] / times)
    return Refresh(rates)


def _ways(model: PlanModel) -> list[Floats]:
    """Weights for the times in states, other than equal ones."""
    flows = model.saturation.produced[:-1]
    # the cheapest path for each state: new tuples per unit of resources
    cheapest = PathTable.of(model).inserts.max(axis=0)
    sizes = np.where(np.isfinite(model.sizes), model.sizes, 1.0)
    # a state that nothing can refresh makes the cover infeasible, whatever its weight
    natural = np.divide(sizes, flows, out=np.ones_like(sizes), where=flows > 0)
    alone = np.divide(sizes, cheapest, out=np.ones_like(sizes), where=cheapest > 0)
    return [natural, np.sqrt(alone)]  # the root is the least sum of price * size / time


def _improved(model: PlanModel, slack: Floats, refresh: Refresh) -> tuple[float, Refresh]:
    """The cost of covering a state as asked, or as a cover gives anyway, and the latter's rates."""
    cost = np.inf
    for _ in range(MAX_SHARE_ROUNDS):
        cover = gh_wmscp(model, refresh)
        if cover.infeasible or cover.cost >= cost:
            break
        cost, best = cover.cost, refresh
        refresh = _as_given(model, slack, cover, refresh)
    return (cost, best) if cost < np.inf else (cost, refresh)


def _as_given(model: PlanModel, slack: Floats, cover: Cover, refresh: Refresh) -> Refresh:
    """Rates in the proportions of a cover, as low as the freshness asked for permits."""
    given = np.where(refresh.rates > 0, cover.resources @ PathTable.of(model).inserts, 0.0)
    stays = np.divide(model.sizes, given, out=np.zeros_like(given), where=given > 0)
    used = [stays[list(path[1:])].sum() / slack[i] for i, path in enumerate(model.tree.paths)]
    return Refresh(given * max(used))
