"""Which tuples probe in a batch, where CPU is limited; and what that cost."""

from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from streamjoin.joins.multi.settings import FAR
from streamjoin.joins.multi.states import States
from streamjoin.joins.multi.tuples import Tuples
from streamjoin.metrics import Details
from streamjoin.metrics.catalogue import Counts
from streamjoin.planning.many.plan_model import Floats
from streamjoin.planning.many.planners import Analyst
from streamjoin.shedding.costs import Costs
from streamjoin.shedding.limits import PlanLimits
from streamjoin.shedding.plans import AllowanceState, Observed, Question, Whole

TURNS: Final = 32
"""So many of the longest window the same keys come first, then others."""


class ProbeRegulator:
    """Keeps one batch of a plan within its limits.

    `seconds` is the event time that the batch brings; `whole` the plan that this operator has a
    part of, None if it is all of it. When the batch has been charged, `measured` says what it
    showed, by the nodes of the whole plan.
    """

    def __init__(
        self, states: States, limits: PlanLimits, seconds: float, whole: Whole | None = None
    ) -> None:
        self._limits, self._state, self._seconds = limits, states.state, seconds
        self._known = known = self._state.limits = self._state.limits or AllowanceState()
        join, tree = states.join, states.tree
        self._tree = tree
        # what a limited state will hold: so long its tuples stay, also while it fills
        sizes = [float(join.limit_of(x) or states.rows(x)) for x in range(tree.root)]
        self._seen = Observed.begun(seconds, sizes)
        self._turn_us = turn_us(states)
        self._whole = whole
        self._plan = tree if whole is None else whole.tree
        self._nodes = tuple(range(tree.root)) if whole is None else whole.nodes[: tree.root]
        if whole is not None and whole.observed is not None:
            known.observe(whole.observed)
        if known.allowances is None and limits.rate is not None and seconds > 0:
            nodes = self._plan.root
            known.allow([limits.rate / nodes] * nodes)  # nothing is known yet
        self._analyst = Analyst()
        self._ask()

    def probing(self, node: int, arrived: Tuples) -> Tuples:
        """Those tuples of a node that probe: of the keys whose turn comes first."""
        seconds = self._seconds
        if self._limits.cpu_us_per_batch is not None:
            seconds = self._known.pace
        number = self._nodes[node]
        probing = _first(arrived, self._known.allowed(number, seconds), self._turn_us)
        self._known.use(number, len(probing), seconds)
        self._seen.arrived[node] += len(arrived)
        self._seen.all_arrived[node] += arrived.weight
        self._seen.probed[node] += len(probing)
        return probing

    def found(self, node: int, tuples: Tuples) -> None:
        """Count what probes of a node have formed."""
        self._seen.found[node] += len(tuples)
        self._seen.all_found[node] += tuples.weight

    def spent(self, node: int, cpu_us: float) -> None:
        """Count what probes of a node took."""
        self._seen.probe_us[node] += cpu_us

    def kept(self, node: int, cpu_us: float) -> None:
        """Count what it took to remember or hand out a join's tuples, as part of forming them.

        A node of a stream has none.
        """
        if node < self._tree.n_streams:
            return
        children, found = self._tree.children(node), self._seen.found
        formed = sum(found[child] for child in children)
        for child in children:
            self._seen.probe_us[child] += cpu_us * found[child] / max(formed, 1.0)

    def missed(self, rows_out: int) -> float:
        """An estimate of the results that were not formed, though they would have come out."""
        tree, seen = self._tree, self._seen
        every = seen.all_arrived[: tree.n_streams]
        # what is not formed at all is missing in a state: it should have so many times its tuples
        lack = [1.0] * tree.n_streams
        for node, (x, y) in enumerate(tree.joins, start=tree.n_streams):
            by_x, by_y = every[x] * self._finds(x, y), every[y] * self._finds(y, x)
            every.append(by_x * lack[y] + by_y * lack[x])
            known = 0.0 if node == tree.root else seen.all_arrived[node]
            lack.append(every[node] / known if known and not self._limits.limited else 1.0)
        formed = sum(seen.found[child] for child in tree.children(tree.root))
        return max(0.0, every[-1] - formed) * (rows_out / formed if formed else 1.0)

    def _finds(self, node: int, partner: int) -> float:
        """Tuples that a tuple of a node would form, if all had probed.

        Known best from those that did; else, as a match is one both ways, from those of the partner
        that did; else from batches before.
        """
        seen = self._seen
        if seen.probed[node]:
            return seen.all_found[node] / seen.all_arrived[node]
        pairs = seen.all_arrived[partner] * self._all_stored(node)
        if seen.probed[partner] and pairs:
            return seen.all_found[partner] / pairs * self._all_stored(partner)
        return float(self._found_before[self._nodes[node]])

    @cached_property
    def _found_before(self) -> Floats:
        return self._known.finds(self._plan, limited=self._limits.limited)

    def _all_stored(self, node: int) -> float:
        """Tuples of a node that would be stored, did all probe that it was formed of."""
        arrived = self._seen.arrived[node]
        if not arrived or self._limits.limited:
            return self._seen.sizes[node]
        return self._seen.sizes[node] * (self._seen.all_arrived[node] / arrived)

    def count(self, costs: Costs, rows: int) -> float:
        """CPU time by what was done, in place of what was measured."""
        seen = self._seen
        seen.probe_us[:] = [
            costs.looked_at * probed + costs.handed_out * found
            for probed, found in zip(seen.probed, seen.found, strict=True)
        ]
        return costs.received * rows + sum(seen.probe_us)

    def details(self) -> Details:
        """What the batch was allowed; of a part of a plan nothing, the last operator knows all."""
        limits, known, plan = self._limits, self._known, self._plan
        budget_us = limits.cpu_us_per_batch
        if limits.cpu_us_per_second is not None:
            budget_us = limits.cpu_us_per_second * self._seconds
        allowances = known.allowances or []
        names = (f"{plan.label(x)} -> {plan.label(plan.sibling(x))}" for x in range(plan.root))
        return Details(
            budget_us=round(budget_us or 0.0),
            planned=round(sum(allowances) * self._seconds),
            allowances={n: float(f"{a:.4g}") for n, a in zip(names, allowances, strict=False)},
        )

    def charge(self, cpu_us: float, counts: Counts) -> None:
        """Tell what the batch cost; decide what the next one may do."""
        known = self._known
        batch = replace(self._seen, receive_us=max(0.0, cpu_us - sum(self._seen.probe_us)))
        self.measured = batch.on(self._nodes, self._plan.root)
        if self._whole is None:
            known.observe(batch)
            is_first = known.allowances is None or len(known.observed) == 1
            if self._question is None and is_first:
                self._ask()  # though nothing can run beside it any more
        if self._question is not None:
            at = (self._state.newest or 0) / 1e6
            counts["analysed"] += 1
            verdict = self._question.judge(known, self._analyst.result(), at)
            known.keep(verdict)
            counts["adapted"] += verdict.adapted
        counts["infeasible"] = int(known.infeasible is not None)

    def _ask(self) -> None:
        """Start an analysis if something has changed."""
        self._question = question = Question.of(self._limits, self._known, self._plan)
        if question is not None:
            self._known.ask(question)
            self._analyst.start(
                self._limits.planner, question.model, question.mu, question.freshness
            )


def turn_us(states: States) -> int:
    """How long the same keys come first."""
    span = max(map(states.span_us, range(states.tree.root)))
    return min(FAR, TURNS * span) or FAR


def first_part(tuples: Tuples, part: float, turn_us: int) -> Tuples:
    """Tuples of the keys that come first, a part of all."""
    return tuples.take(tuples.turns(turn_us) < np.uint64(part * 2.0**64)).weighed(part)


def _first(arrived: Tuples, allowed: float, turn_us: int) -> Tuples:
    """Tuples of the first keys up to a number; of those alike all or none, whatever their order."""
    if allowed >= len(arrived):
        return arrived
    n = int(max(0.0, allowed))
    if n == 0:
        return arrived.take(slice(0))
    turns = arrived.turns(turn_us)
    chosen = turns <= np.partition(turns, n - 1)[n - 1]
    if chosen.all():
        return arrived
    # by what came, not by the place in the order: keys are few, and tuples of one have one place
    return arrived.take(chosen).weighed(int(chosen.sum()) / arrived.weight)
