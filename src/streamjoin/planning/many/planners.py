"""All planners by name, when to run one, and when to follow it (Mukherji 2011, Section 4.4).

Analyse when something varies by more than `epsilon` against what was analysed last. Actuate, that
is, change the allowances, when what is recommended is predicted to give more results by at least
`p`, or when the present allowances can no longer be kept: they leave a state uncovered or cost more
than there is (JAQ-A25).
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Final

from streamjoin.errors import ConfigError
from streamjoin.planning.many.cover import TOLERANCE, Refresh, refresh_rates, uncovered
from streamjoin.planning.many.jaqpot import HEURISTICS, exact, grepp, heuristic, jaqpot
from streamjoin.planning.many.plan_model import Allocation, Numbers, PlanModel
from streamjoin.planning.many.timed_plan import TimedPlan, best_mix

PLANNERS: Final = ("jaqpot", "exact", "grepp", *HEURISTICS)
"""The first two keep states fresh; the others see throughput only."""
MAX_DECISIONS: Final = 10
"""Decisions that are kept."""
STEP: Final = 1.25
"""By this factor `epsilon` grows and shrinks."""
RANGE: Final = 4.0
"""By this factor thresholds may leave what was asked for, up and down."""
MEMORY: Final = 0.9
"""Weight of `p` as it is against the error of the last prediction."""


def allocate(
    planner: str, model: PlanModel, mu: float, refresh: Refresh | None = None
) -> Allocation:
    """Divide resources among the half-way joins of a plan.

    Parameters
    ----------
    planner
        One of `PLANNERS`.
    model
        The plan.
    mu
        Resources per second, in the unit of the model's costs.
    refresh
        What keeps results fresh. "exact" has it for less than "jaqpot": tuples that refresh a
        state need not all probe on. Not for a `TimedPlan`, whose states are never stale; both then
        give the optimum, `best_mix`.

    Examples
    --------
    >>> from streamjoin.planning.many.tree import Tree
    >>> tree = Tree.parse("(a b) c")
    >>> model = PlanModel.of(tree, [500, 700, 600], [5000, 500, 1000, 200], [0.001, 0.005])
    >>> for planner in PLANNERS:
    ...     print(f"{planner:12} {allocate(planner, model, 300).throughput:6.1f}")
    jaqpot       1250.0
    exact        1250.0
    grepp        1250.0
    equal-hj      450.0
    global-hjpr   678.3
    e-best-hjp    750.0
    s-best-hjp   1250.0
    """
    if isinstance(model, TimedPlan) and planner in ("jaqpot", "exact"):
        return best_mix(planner, model, mu)
    if planner == "jaqpot":
        return jaqpot(model, mu, refresh)
    if planner == "exact":
        return exact(model, mu, refresh, match=False)
    if planner == "grepp":
        return grepp(model, mu)
    if planner not in HEURISTICS:
        raise ConfigError.at("planner", repr(planner), ", ".join(PLANNERS))
    return heuristic(planner, model, mu)


@dataclass(frozen=True, eq=False)
class Analysis:
    """What a planner was asked, and what it recommends."""

    model: PlanModel  # the plan and its resources per second
    mu: float
    refresh: Refresh | None  # what keeps results fresh, if that was asked for
    allocation: Allocation  # what is recommended


def analyse(
    planner: str, model: PlanModel, mu: float, freshness: Sequence[float] | None = None
) -> Analysis:
    """Turn freshness into refresh rates, and plan.

    Parameters
    ----------
    planner, model, mu
        As for `allocate`.
    freshness
        As for `refresh_rates`.
    """
    refresh = None if freshness is None else refresh_rates(model, freshness)
    return Analysis(model, mu, refresh, allocate(planner, model, mu, refresh))


class Analyst:
    """Analyses in a thread of its own, so that the join goes on meanwhile.

    What it finds depends on its inputs only, never on how long it takes: who needs the result at a
    certain point of the work asks for it there, and waits if need be.

    Examples
    --------
    >>> from streamjoin.planning.many.tree import Tree
    >>> model = PlanModel.of(Tree.parse("a b"), [500, 700], [5000, 500], [0.001, 0.005])
    >>> analyst = Analyst()
    >>> analyst.start("jaqpot", model, 300)
    >>> analyst.result().allocation.throughput
    1500.0
    """

    def __init__(self) -> None:
        self._pending: Future[Analysis] | None = None

    def start(
        self, planner: str, model: PlanModel, mu: float, freshness: Sequence[float] | None = None
    ) -> None:
        """Begin an analysis; the result of an earlier one is given up."""
        thread = ThreadPoolExecutor(1, "streamjoin-analyst")
        self._pending = thread.submit(analyse, planner, model, mu, freshness)
        thread.shutdown(wait=False)  # it ends with the analysis

    def result(self) -> Analysis:
        """What the last analysis found, or its error."""
        if self._pending is None:
            raise ConfigError.at("result", "no analysis", "after start")
        return self._pending.result()


@dataclass(frozen=True)
class Decision:
    """One analysis and what came of it."""

    at: float  # when, as the caller counts time
    what: str  # the planner
    why: str  # what led to the analysis, and then to the decision
    before: float
    after: float
    """Predicted results per second with the allowances so far, and with those recommended."""
    actuated: bool  # whether the allowances change


class Adaptation:
    """The two thresholds, what was analysed last, and a log of decisions.

    With `tuned`, the thresholds follow what they lead to, and stay within a factor of 4 of what was
    asked for. `epsilon` grows by a quarter after an analysis that changed nothing and shrinks by as
    much after one that gained more than twice `p`. `p` follows the average error of the
    predictions: a smaller gain than that would be no evidence.

    Parameters
    ----------
    epsilon
        Relative change that starts an analysis.
    p
        Predicted relative gain that is worth a change.
    tuned
        Whether both adapt themselves.

    Examples
    --------
    >>> from streamjoin.planning.many.planners import analyse
    >>> from streamjoin.planning.many.plan_model import PlanModel
    >>> from streamjoin.planning.many.tree import Tree
    >>> tree, adaptation = Tree.parse("a b"), Adaptation()
    >>> adaptation.analysed({"rate a": 500})
    >>> adaptation.should_analyse({"rate a": 510}), adaptation.should_analyse({"rate a": 600})
    ('', 'rate a changed by 20 %')
    >>> model = PlanModel.of(tree, [600, 700], [5000, 500], [0.001, 0.02])
    >>> decision = adaptation.decide(1.0, "rate a changed", [0, 300], analyse("jaqpot", model, 300))
    >>> decision.why, decision.before, decision.after
    ('rate a changed: gain 100 %', 1500.0, 3000.0)
    """

    def __init__(self, epsilon: float = 0.05, p: float = 0.05, tuned: bool = True) -> None:
        for name, value in (("epsilon", epsilon), ("p", p)):
            if not 0 <= value < 10:
                raise ConfigError.at(name, value, "a share from 0 to less than 10")
        self.asked = (epsilon, p)
        self.epsilon, self.p, self.tuned = epsilon, p, tuned
        self.decisions: deque[Decision] = deque(maxlen=MAX_DECISIONS)
        self._last: dict[str, float] | None = None

    def should_analyse(self, stats: Mapping[str, float]) -> str:
        """Why an analysis is due; empty if it is not."""
        if self._last is None:
            return "first analysis"
        names = stats.keys() | self._last.keys()
        changes = {
            n: abs(_change(self._last.get(n, 0.0), stats.get(n, 0.0))) for n in sorted(names)
        }
        most = max(changes, key=changes.__getitem__, default=None)
        if most is None or changes[most] <= self.epsilon:
            return ""
        return f"{most} changed by {_percent(changes[most])}"

    def analysed(self, stats: Mapping[str, float]) -> None:
        """Remember what an analysis starts from."""
        self._last = dict(stats)

    def decide(self, at: float, why: str, current: Numbers | None, analysis: Analysis) -> Decision:
        """Judge a recommendation, and record that."""
        decision = self.judge(at, why, current, analysis)
        self.record(decision, is_first=current is None)
        return decision

    def judge(self, at: float, why: str, current: Numbers | None, analysis: Analysis) -> Decision:
        """Whether what is recommended now, for a reason, is better than the present allowances."""
        allocation = analysis.allocation
        before = 0.0 if current is None else analysis.model.throughput(current)
        gain = _change(before, allocation.throughput)
        reason = self._reason(current, gain, analysis)
        what = f"{why}: {reason or f'gain {_percent(gain)} only'}"
        return Decision(
            at, allocation.planner, what, before, allocation.throughput, actuated=bool(reason)
        )

    def record(self, decision: Decision, *, is_first: bool) -> None:
        """Log a decision, and adapt `epsilon`; the first one has nothing to be compared with."""
        self.decisions.append(decision)
        if not decision.actuated:
            self._tune_epsilon(STEP)
        elif not is_first and _change(decision.before, decision.after) > 2 * self.p:
            self._tune_epsilon(1 / STEP)

    def learn(self, predicted: float, observed: float) -> None:
        """Adapt `p` to how well predictions hold."""
        if self.tuned and predicted > 0:
            error = abs(observed - predicted) / predicted
            self.p = _within_range(MEMORY * self.p + (1 - MEMORY) * error, self.asked[1])

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return {
            "asked": list(self.asked),
            "thresholds": [self.epsilon, self.p],
            "tuned": self.tuned,
            "last": self._last,
            "decisions": [asdict(decision) for decision in self.decisions],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Adaptation":
        """What `to_dict` gave."""
        epsilon, p = stored["asked"]
        adaptation = cls(epsilon, p, stored["tuned"])
        adaptation.epsilon, adaptation.p = stored["thresholds"]
        adaptation._last = stored["last"]
        adaptation.decisions.extend(Decision(**decision) for decision in stored["decisions"])
        return adaptation

    def _reason(self, current: Numbers | None, gain: float, analysis: Analysis) -> str:
        """Why to change the allowances; empty if they stay."""
        model, mu, refresh = analysis.model, analysis.mu, analysis.refresh
        if current is None:
            return "no allowances so far"
        recommended = analysis.allocation.allowances
        if refresh is not None and not uncovered(model, recommended, refresh):
            for node, lacking in uncovered(model, current, refresh).items():
                return (
                    f"the state of {model.tree.label(node)!r} lacks {lacking:.4g} tuples a second"
                )
        cost = model.resources(current)
        if cost > mu * (1 + TOLERANCE):
            return f"the probes cost {cost:.4g} a second, there are {mu:.4g}"
        return f"gain {_percent(gain)}" if gain > self.p else ""

    def _tune_epsilon(self, factor: float) -> None:
        if self.tuned:
            self.epsilon = _within_range(self.epsilon * factor, self.asked[0])


def _within_range(value: float, asked: float) -> float:
    return min(max(value, asked / RANGE), asked * RANGE)


def _change(before: float, after: float) -> float:
    """Relative change; from nothing to something is endless."""
    if before == after:
        return 0.0
    return (after - before) / before if before else math.inf


def _percent(part: float) -> str:
    return f"{100 * part:.3g} %"
