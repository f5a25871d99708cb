"""From freshness to refresh rates (Mukherji 2011, Lemma 1 and Definition 5; JAQ-A20, A21, I8).

A tuple of stream I stays in its own state, then, as part of intermediate results, in the states on
its path: for ``|S_j| / r_j`` seconds each, r_j being the new tuples per second of that state. These
times must add up to the freshness asked for at most. What its own state leaves of it, the *slack*,
is shared among the states on the path, and the shares say how fast each state must be refreshed.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Final, Literal

import numpy as np

from streamjoin.errors import ConfigError
from streamjoin.planning.cover import Cover, Refresh, gh_wmscp
from streamjoin.planning.path_productivity import PathTable
from streamjoin.planning.plan_model import Floats, PlanModel

Share = Literal["best", "equal"]

ROUNDS: Final = 4
"""How many times shares are improved by what the cover gives anyway."""


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

    >>> from streamjoin.planning.tree import Tree
    >>> tree, sizes = Tree.parse("(a b) c"), [5000, 500, 1000, 200]
    >>> model = PlanModel.of(tree, [500, 700, 600], sizes, [0.001, 0.005])
    >>> refresh_rates(model, [15, np.inf, np.inf]).rates
    array([ 0.,  0.,  0., 40.])
    >>> refresh_rates(model, [9, np.inf, np.inf]).infeasible
    "freshness: got 9 s for 'a', 1 s too little; allowed: more than the 10 s that its state lasts"
    """
    if len(freshness) != model.tree.n_streams or not all(asked > 0 for asked in freshness):
        msg = f"freshness: got {list(freshness)}; allowed: one positive number for each stream"
        raise ConfigError(msg)
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
    for _ in range(ROUNDS):
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
