"""Which tuples probe in a batch, where CPU is limited; and what that cost."""

from time import thread_time_ns

import numpy as np
from numpy.typing import NDArray

from streamjoin.joins.multi.metrics import Counts
from streamjoin.joins.multi.states import MultiJoinState, States
from streamjoin.joins.multi.tuples import Tuples
from streamjoin.planning.analysis import Analyst
from streamjoin.shedding.allowances import AllowanceState, Observed, PlanLimits, Question

_TURNS = 0x7A0
"""Salts of the choice which tuples probe; the node is added."""


class Limits:
    """Keeps one batch of a plan within its limits.

    Parameters
    ----------
    limits, known
        What there is, and what is known of the plan.
    state, states
        The directory, and what is remembered.
    seconds
        Event time that the batch brings.
    """

    def __init__(
        self,
        limits: PlanLimits,
        known: AllowanceState,
        state: MultiJoinState,
        states: States,
        seconds: float,
    ) -> None:
        self._limits, self._known, self._state, self._seconds = limits, known, state, seconds
        nodes = states.tree.root
        self._arrived, self._probed, self._found = ([0.0] * nodes for _ in range(3))
        self._probe_us = [0.0] * nodes
        self._sizes = [float(states.rows(node)) for node in range(nodes)]
        self._analyst = Analyst()
        self._question = Question.of(limits, self._known, states.tree)
        if self._question is not None:
            question = self._question
            self._analyst.start(limits.planner, question.model, question.mu, question.freshness)

    def choose(self, node: int, arrived: Tuples) -> tuple[NDArray[np.bool_] | None, float]:
        """Which tuples of a node probe, None for all; and the part of them."""
        seconds = self._seconds
        if self._limits.cpu_us_per_batch is not None:
            seconds = self._known.pace
        share = self._known.shares(len(arrived), node, seconds)
        self._arrived[node] += len(arrived)
        if share >= 1:
            self._probed[node] += len(arrived)
            return None, 1.0
        chosen = arrived.hashes(_TURNS + node) < np.uint64(share * 2.0**64)
        self._probed[node] += int(chosen.sum())
        return chosen, share

    def spent(self, node: int, found: int, since_ns: int) -> None:
        """Count what probes of a node have found, and what that took."""
        self._found[node] += found
        self._probe_us[node] += (thread_time_ns() - since_ns) / 1000

    def charge(self, cpu_us: float, counts: Counts) -> None:
        """Tell what the batch cost; decide what the next one may do."""
        receive = max(0.0, cpu_us - sum(self._probe_us))
        batch = Observed(
            self._seconds, self._arrived, self._probed, self._found, self._sizes,
            self._probe_us, receive,
        )  # fmt: skip
        self._known.observe(batch)
        if self._question is not None:
            answer = self._analyst.result()
            at = (self._state.newest or 0) / 1e6
            counts["analysed"] += 1
            counts["adapted"] += self._question.decide(self._known, answer, at)
        counts["infeasible"] = int(self._known.infeasible is not None)
