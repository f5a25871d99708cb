"""What a join of two streams will do: its report.

Read this module, then `window_words` (conditions and time), `window_situation` (how often rows
match, about how much is remembered), `window_planned` (what limits come to), `window_budget` (what
gives way to a budget), `window_methods` (how matches are looked for) and `window_expected` (what
comes out, what that takes, what other budgets would mean, what may go wrong).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from streamjoin.explanations import window_expected
from streamjoin.explanations import window_words as words
from streamjoin.explanations.asked import Asked
from streamjoin.explanations.expected import expected_sections, numbers_of
from streamjoin.explanations.explainer import Explainer
from streamjoin.explanations.plans import JoinPlan
from streamjoin.explanations.window_budget import explain_budget
from streamjoin.explanations.window_methods import index, invalidation, method_lines, methods
from streamjoin.explanations.window_situation import (
    UNIT_RATES,
    Situation,
    known_matches,
    state_lines,
)
from streamjoin.explanations.window_words import NAMES
from streamjoin.explanations.wording import (
    Shards,
    about,
    idle_words,
    late_words,
    listed,
    watermark_words,
    with_rate,
)
from streamjoin.joins.report import Card, Lane, Report
from streamjoin.metrics.words import size as format_bytes

_PACK: Final = "packed into Arrow blocks"
_SMALLER: Final = "the smaller of the newest left and the newest right time"
_NOTICED: Final = "; noticed when the other input brings rows"
_SIDE: Final = re.compile(r"\b(left|right)\.|`(?:[^`]|``)*`")
_KINDS: Final = {
    "inner": "Pairs each row of {a} with the rows of {b} {match}.",
    "left": "Gives each row of {a} with the rows of {b} {match}, or alone if there is none.",
    "right": "Gives each row of {b} with the rows of {a} {match}, or alone if there is none.",
    "full": "Pairs rows of {a} with the rows of {b} {match}; rows of both without a partner come "
    "out alone.",
    "semi": "Gives the rows of {a} for which there is a row of {b} {match}.",
    "anti": "Gives the rows of {a} for which there is no row of {b} {match}.",
    "asof": "Gives each row of {a} with one row of {b} {match}, or with nulls if there is none.",
}


def explain_window(plan: JoinPlan, asked: Asked) -> Report:
    """Explain a join of two streams."""
    return _Explainer(plan, asked).report()


class _Explainer(Explainer):
    """What is known of a join of two streams, and how that is said."""

    kind = "joins"

    def __init__(self, plan: JoinPlan, asked: Asked) -> None:
        super().__init__(plan, asked)
        self.plan, self.join = plan, plan.resolved.join
        self.names = (asked.sources.names or NAMES)[:2]
        rates, matches = asked.pair, known_matches(plan, asked)
        at = Situation(plan, rates or UNIT_RATES, rates is not None, matches)
        self.budget = explain_budget(at)
        self.planned = None if self.budget is None else self.budget.planned
        self.budget_text = None if self.budget is None else self.budget.limits
        self.share = None if self.planned is None else self.planned.share
        self.methods, self.meanings = methods(at, self.planned), None
        if rates is not None and plan.streaming:
            at = replace(at, matches=matches or window_expected.assumed_matches(at))
            self.expected = window_expected.expect(
                at, asked.cores, is_reflexive=asked.sources.is_reflexive
            )
            self.meanings = window_expected.meanings(at, self.expected)
        self.at = at
        self.burst = window_expected.burst_words(at, asked.sources.burst, asked.cores)
        self.warnings = tuple(window_expected.warnings(at, self.planned, self.expected))
        self.conditions = words.conditions(plan.resolved)
        self.lengths = words.lengths(self.join)
        self.freshness = words.freshness(self.join)
        self.columns = [column.name for column in self.join.output]
        routing = plan.routing
        self.shards = Shards(routing.n_shards, plan.n_partitions, routing.describe(), at.copies)

    def title(self) -> str:
        """What kind of join it is."""
        how = self.join.how
        kind = f"{how} ({self.join.direction})" if how == "asof" else how
        return f"{kind} join of two {'streams' if self.streaming else 'tables'}"

    def numbers(self) -> dict[str, Any]:
        """What programs get."""
        plan, join, live = self.plan, self.join, self.streaming
        filters = self.asked.sources.filters
        return {
            "name": plan.name,
            "streams": self.names,
            "how": join.how,
            "direction": join.direction if join.how == "asof" else None,
            "streaming": live,
            "keys": words.keys(join),
            "filters": [filters.get(name, ()) for name in self.names],
            "conditions": [asdict(one) for one in self.conditions],
            "windows": words.windows(join),
            "lengths": self.lengths,
            "emitted": words.emitted(join, live),
            "watermark": watermark_words(_SMALLER, join.left.lateness_us) if live else None,
            "late": late_words(plan.late_rows) if live else None,
            "idle": idle_words(join.idle_us, _NOTICED) if live else None,
            "shards": self.shards.to_dict(),
            "skew": words.skew(plan) if live else None,
            "freshness": next(iter(self.freshness), None),
            "budget": numbers_of(self.budget),
            "algorithm": self.methods,
            "invalidation": invalidation(self.at),
            "index": index(plan.resolved),
            "columns": self.columns,
            "state": [asdict(side) for side in self.at.sides] if live else [],
            "expected": numbers_of(self.expected),
            "burst": self.burst,
            "meanings": numbers_of(self.meanings),
        }

    def sections(self, numbers: Mapping[str, Any]) -> dict[str, list[str | None]]:
        """The details in words."""
        none = "none: all rows within the windows match"
        named = self.names != NAMES
        state = state_lines(self.at.sides, limited=self.budget is not None)
        return {
            "streams": ["left is {}, right is {}".format(*self.names)] if named else [],
            "conditions": [one.line for one in self.conditions] or [none],
            "windows": numbers["windows"],
            "comes out": numbers["emitted"],
            "freshness": [*self.freshness],
            "watermark": [numbers["watermark"]],
            "late rows": [numbers["late"]],
            "silent input": [numbers["idle"]],
            "shards": [self.shards.text],
            "skewed keys": [numbers["skew"]],
            "budget": [] if self.budget is None else self.budget.lines(),
            "algorithm": method_lines(self.methods),
            "invalidation": [numbers["invalidation"]],
            "index": [numbers["index"]],
            "columns": [", ".join(self.columns)],
            **expected_sections(self.expected),
            "state, about": [*state] if self.streaming else [],
            "budgets": [] if self.meanings is None else [*self.meanings.table()],
        }

    def answer(self) -> Iterator[str]:
        """The whole in a few sentences."""
        limited, at = self.budget is not None, self.at
        rates = at.rates if at.rates_given and self.streaming else (None, None)
        a, b = (with_rate(name, rate) for name, rate in zip(self.names, rates, strict=True))
        yield _KINDS[self.join.how].format(a=a, b=b, match=self._match())
        if not self.streaming:
            yield "All rows are there, so the result comes at the end and nothing is remembered."
            return
        size, rows = (sum(x) for x in zip(*((s.bytes, s.rows) for s in at.sides), strict=True))
        remembered = f"{format_bytes(size)} are remembered ({about(rows)} rows)"
        if self.expected is None:
            yield (
                f"At 1,000 rows/s a side about {remembered}; give rates=(left, right), and "
                "selectivities if known, to see what comes out, the CPU that takes and what a "
                "budget would mean."
            )
        else:
            comes_out = self.expected.comes_out(limited=limited, sure=self.join.how == "asof")
            yield f"{comes_out}; about {remembered}."
            yield self.expected.takes(limited=limited)
        if self.planned is not None:
            yield self.kept(fits=self.planned.fits)
        elif limited:
            yield f"The budget is {self.budget_text}."
        if self.burst is not None:
            yield self.burst
        yield from self.look_out()

    def _match(self) -> str:
        """What a row of the one stream must fulfil for one of the other."""
        keys = words.keys(self.join)
        same = [a for a, b in keys if a == b]
        others = [self._named(one.text) for one in self.conditions if one.place != "key"]
        others += [f"{self.names[0]}.{a} = {self.names[1]}.{b}" for a, b in keys if a != b]
        parts = [f"of the same {listed(same)}"] if same else []
        parts.append(self._when())
        return " ".join(parts) + (f", where {' and '.join(others)}" if others else "")

    def _when(self) -> str:
        """How far apart in time rows may be."""
        after, before = self.lengths
        if self.join.how == "asof":
            which = "the nearest" if self.join.direction == "nearest" else "the last one"
            where = "away" if after else "before it"
            return f"that is {which}, at most {before or after} {where}"
        if any(length is not None and length.endswith(" rows") for length in self.lengths):
            kept = zip(self.names, self.lengths, strict=True)
            return "among the last rows (" + ", ".join(f"{n}: {k or 'none'}" for n, k in kept) + ")"
        if self.join.how == "right":  # the other way round
            after, before = before, after
        if after == before:
            return f"up to {after} before or after it" if after else "at the same time"
        if before is None:
            return f"up to {after} after it"
        return f"up to {before} before it" + (f" or {after} after it" if after else "")

    def _named(self, text: str) -> str:
        """A condition with the streams' own names."""
        own = dict(zip(NAMES, self.names, strict=True))
        return _SIDE.sub(lambda match: f"{own[match[1]]}." if match[1] else match[0], text)

    def checked_after(self) -> list[str]:
        """Conditions that Spark checks on what the join hands out."""
        rest = [self._named(one.text) for one in self.conditions if one.place == "spark"]
        return rest + super().checked_after()

    def operator(self) -> Card:
        """The join, the shuffle and the streams."""
        copies = zip(self.names, self.shards.copies, strict=True)
        sent = [f"{name} to {n}" for name, n in copies if n > 1]
        more = f"; each row of {' and of '.join(sent)} shards" if sent else ""
        rates = self.at.rates if self.streaming and self.at.rates_given else (None, None)
        streams = tuple(
            self.stream(name, rate, length, _PACK)
            for name, rate, length in zip(self.names, rates, self.lengths, strict=True)
        )
        within = tuple(self._named(one.text) for one in self.conditions if one.place != "spark")
        return Card(
            "join",
            f"{self.join.how} window join",
            within or ("all rows within the windows match",),
            lanes=tuple(self._lane(side) for side in ((0,) if self.join.how == "asof" else (0, 1))),
            limits=self.limits(),
            children=(Card("shuffle", "shuffle", (self.shards.brief + more,), children=streams),),
        )

    def _lane(self, side: int) -> Lane:
        """Arrivals of a side probe the window of the other."""
        other, live = 1 - side, self.streaming
        length, remembered = self.lengths[other], self.at.sides[other]
        kept = f"last {length}" if length else "just come"
        notes = []
        if self.methods is not None:
            chosen = self.methods["windows"][other]["chosen"]
            if chosen is not None:
                notes.append(f"algorithm {chosen}")
            elif length:
                notes.append("algorithm chosen while it runs")
        if live and remembered.rows:
            at = "" if remembered.rate_given else " at 1,000 rows/s"
            size = format_bytes(remembered.bytes)
            notes.append(f"{about(remembered.rows)} rows remembered, {size}{at}")
        probed = f"{self.names[other]}, {kept if live else 'all rows'}"
        return Lane((self.names[side], probed), "; ".join(notes))
