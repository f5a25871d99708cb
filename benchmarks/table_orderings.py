"""Which of the orderings that Naeem et al. (2017) state are found in measured service rates.

Nothing is asserted: each ordering is computed from the rates that were measured, and left out where
they were not. Seconds of another machine cannot be compared, so sizes of gains are only shown.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

PAIRS: Final = ("inlj", "meshjoin", "hybridjoin")
"""Algorithms without a front stage; one with it has a c before its name."""
ALGORITHMS: Final = (*(f"{c}{name}" for name in PAIRS for c in ("", "c")), "auto")
AMORTISED: Final = ("meshjoin", "hybridjoin")
CONSIDERING: Final = "chybridjoin considering"
UPFRONT: Final = "chybridjoin upfront"
_SLIGHTLY: Final = 0.85
"""At skew 0 a front stage costs at most the memory that it takes (NAE-C8)."""


class Setting(NamedTuple):
    """What was measured: the table, part of its bytes that the join had, skew, algorithm."""

    source: str
    memory: float
    skew: float
    algorithm: str


Rates = Mapping[Setting, float]


@dataclass(frozen=True)
class Ordering:
    """Something that the paper states, and whether it was found.

    Parameters
    ----------
    claim, stated
        Its number, and what is stated.
    source
        The table, and part of its bytes that the join had.
    holds
        Whether it was found.
    measured
        The numbers that decide, by what they are.
    """

    claim: str
    source: str
    stated: str
    holds: bool
    measured: dict[str, float]


def orderings(rates: Rates) -> list[Ordering]:
    """All orderings that can be told from some rates.

    Examples
    --------
    >>> rates = {Setting("x", 0.1, 1.0, "inlj"): 100.0, Setting("x", 0.1, 1.0, "cinlj"): 250.0}
    >>> [(one.claim, one.holds, one.measured) for one in orderings(rates)]
    [('NAE-C6', True, {'cinlj/inlj': 2.5})]
    """
    sources = list(dict.fromkeys((s.source, s.memory) for s in rates))
    found: list[Ordering] = []
    for source, memory in sources:
        one = _Source(rates, source, memory)
        found += [*one.faster(), *one.look_ups(), *one.skewed(), *one.uniform(), *one.shed()]
    for source in dict.fromkeys(name for name, _ in sources):
        found += _by_memory(rates, source, sorted(m for name, m in sources if name == source))
    return found


def gain(rates: Rates, source: str, memory: float, skew: float, name: str) -> float | None:
    """Rate with a front stage over that without it."""
    plain = rates.get(Setting(source, memory, skew, name))
    cached = rates.get(Setting(source, memory, skew, f"c{name}"))
    return cached / plain if plain and cached is not None else None


@dataclass(frozen=True)
class _Source:
    rates: Rates
    source: str
    memory: float

    def _gain(self, skew: float, name: str) -> float | None:
        return gain(self.rates, self.source, self.memory, skew, name)

    def _rate(self, skew: float, algorithm: str) -> float | None:
        return self.rates.get(Setting(self.source, self.memory, skew, algorithm))

    def _said(self, claim: str, stated: str, holds: bool, measured: dict[str, float]) -> Ordering:
        return Ordering(claim, f"{self.source}, {self.memory:.0%}", stated, holds, measured)

    def faster(self) -> Iterator[Ordering]:
        """A front stage makes a join that loads partitions faster, where keys are skewed."""
        claim = {"tpch": "NAE-C10", "flights": "NAE-C11"}.get(self.source.split()[0], "NAE-C4")
        for name in AMORTISED:
            found = self._gain(1.0, name)
            if found is not None:
                stated = f"c{name} is faster than {name}"
                yield self._said(claim, stated, found > 1, {f"c{name}/{name}": found})

    def look_ups(self) -> Iterator[Ordering]:
        """So it does with look-ups, which are slower than anything else."""
        found = self._gain(1.0, "inlj")
        if found is None:
            return
        yield self._said("NAE-C6", "cinlj is faster than inlj", found > 1, {"cinlj/inlj": found})
        names = [c + name for name in AMORTISED for c in ("", "c")]
        rates = {name: rate for name in names if (rate := self._rate(1.0, name)) is not None}
        best = self._rate(1.0, "cinlj")
        if len(rates) == len(names) and best is not None:
            measured = {f"{name}/cinlj": rate / best for name, rate in rates.items()}
            stated = "inlj and cinlj are slower than the four others"
            yield self._said("NAE-C6", stated, min(measured.values()) > 1, measured)

    def skewed(self) -> Iterator[Ordering]:
        """The gain grows with skew, and MESHJOIN itself hardly changes."""
        for name in PAIRS:
            low, high = (self._gain(skew, name) for skew in (0.0, 1.0))
            if low is not None and high is not None:
                measured = {"gain at skew 0": low, "gain at skew 1": high}
                stated = f"c{name}/{name} grows with skew"
                yield self._said("NAE-C7", stated, high > low, measured)
        low, high = (self._rate(skew, "meshjoin") for skew in (0.0, 1.0))
        if low is not None and high is not None:
            measured = {"skew 1/skew 0": high / low}
            yield self._said("NAE-C9", "meshjoin falls as skew rises", high < low, measured)

    def uniform(self) -> Iterator[Ordering]:
        """Without skew a front stage costs a little."""
        for name in AMORTISED:
            found = self._gain(0.0, name)
            if found is not None:
                stated = f"at skew 0 c{name} is slower than {name}, by 15 % at most"
                holds = _SLIGHTLY <= found < 1
                yield self._said("NAE-C8", stated, holds, {f"c{name}/{name}": found})

    def shed(self) -> Iterator[Ordering]:
        """Rows that had their chance are better shed than those that had none."""
        considering, upfront = (self._rate(1.0, name) for name in (CONSIDERING, UPFRONT))
        if considering is None or upfront is None:
            return
        measured = {"considering/upfront": considering / upfront}
        stated = "shedding after considering beats shedding upfront"
        yield self._said("NAE-C16", stated, considering > upfront, measured)
        mesh = self._rate(1.0, "meshjoin")
        if mesh is not None:
            measured = {"upfront/meshjoin": upfront / mesh}
            stated = "chybridjoin that sheds upfront is faster than meshjoin"
            yield self._said("NAE-C19", stated, upfront > mesh, measured)


def _by_memory(rates: Rates, source: str, shares: list[float]) -> Iterator[Ordering]:
    """The gain at the smallest and at the largest memory."""
    for name in AMORTISED:
        low, high = (gain(rates, source, memory, 1.0, name) for memory in (shares[0], shares[-1]))
        if len(shares) > 1 and low is not None and high is not None:
            measured = {f"gain at {shares[0]:.0%}": low, f"gain at {shares[-1]:.0%}": high}
            stated = f"c{name}/{name} grows with memory"
            yield Ordering("NAE-C4", source, stated, high > low, measured)


def by_size(rates: Rates, small: Setting, large: Setting) -> list[Ordering]:
    """How the gains change from a small table to a large one, with the same memory (NAE-C5)."""
    found = []
    for name, grows in (("meshjoin", True), ("hybridjoin", False)):
        low, high = (gain(rates, s.source, s.memory, s.skew, name) for s in (small, large))
        if low is not None and high is not None:
            stated = f"c{name}/{name} {'grows' if grows else 'falls'} with the table"
            measured = {f"gain, {small.source}": low, f"gain, {large.source}": high}
            holds = (high > low) == grows
            found.append(Ordering("NAE-C5", large.source, stated, holds, measured))
    return found
