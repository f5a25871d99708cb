"""What a join of two streams will do: its report.

Read this module, then `window_words` (conditions, time, how matches are looked for),
`window_situation` (how often rows match, about how much is remembered), `window_expected` (what
comes out, what that takes, what limits come to) and `window_budget` (what gives way to a budget).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from streamjoin.explanations import window_expected
from streamjoin.explanations import window_words as words
from streamjoin.explanations.asked import Asked
from streamjoin.explanations.explainer import Explainer, Fact, warn
from streamjoin.explanations.window_budget import explain_budget
from streamjoin.explanations.window_situation import (
    NAMES,
    UNIT_RATES,
    Matches,
    Situation,
    known_matches,
    state_lines,
)
from streamjoin.explanations.wording import BATCH_SECONDS, Shards, about, listed, with_rate
from streamjoin.joins.plans import JoinPlan
from streamjoin.joins.report import Advice, Card, Lane
from streamjoin.metrics.words import size as format_bytes

_SIDE: Final = re.compile(r"\b(left|right)\.|`(?:[^`]|``)*`")
_ALL_MATCH: Final = "all rows within the windows match"
_LAZY: Final = (
    "lazy: rows that are too old stay until the other side brings rows that probe them: less to "
    "do, more to remember"
)
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


class WindowExplainer(Explainer):
    """What is known of a join of two streams, and how that is said."""

    kind = "joins"

    def __init__(self, plan: JoinPlan, asked: Asked) -> None:
        super().__init__(plan, asked)
        self.plan, self.join = plan, plan.resolved.join
        how = self.join.how
        kind = f"{how} ({self.join.direction})" if how == "asof" else how
        self.title = f"{kind} join of two {'streams' if self.streaming else 'tables'}"
        self.names = (asked.sources.names or NAMES)[:2]
        self.conditions = words.conditions(plan.resolved)
        self.keys, self.lengths = words.keys(self.join), words.lengths(self.join)
        self.freshness = words.freshness(self.join)
        self.columns = [column.name for column in self.join.output]
        rates, matches = asked.rates, known_matches(plan, asked)
        at = Situation(plan, rates or UNIT_RATES, rates is not None, matches)
        self.rates = at.rates if at.rates_given and self.streaming else (None, None)
        self.budget = explain_budget(at)
        self.planned = None if self.budget is None else self.budget.planned
        self.budget_text = None if self.budget is None else self.budget.limits
        self.share = None if self.planned is None else self.planned.share
        self.methods = words.methods(at, self.planned)
        if at.rates_given and self.streaming:
            pairs = window_expected.pairs_per_second(at)
            # One match for each row, where nothing else is known.
            share = min(1.0, sum(at.rates) / pairs) if pairs else 0.0
            matches = matches or Matches(share, "assumed")
            at = replace(at, matches=matches)
            self.expected = window_expected.expect_rows(at, asked, matches)
            self.meanings = window_expected.meanings_of(at, self.expected)
        self.at, self.burst = at, window_expected.burst_words(at, asked)
        if self.streaming:
            self.state = state_lines(at.sides, limited=self.budget is not None)
        routing = plan.routing
        self.shards = Shards(routing.n_shards, plan.n_partitions, routing.describe(), at.copies)
        self.warnings = tuple(self._warnings())

    def facts(self) -> list[Fact]:
        """The details."""
        plan, join, live, budget = self.plan, self.join, self.streaming, self.budget
        filters = self.asked.sources.filters
        called = [] if self.names == NAMES else ["left is {}, right is {}".format(*self.names)]
        conditions, none = [one.line for one in self.conditions], f"none: {_ALL_MATCH}"
        is_lazy = live and join.invalidation != "active"
        newest = "the smaller of the newest left and the newest right time"
        noticed = "; noticed when the other input brings rows"
        return [
            Fact("name", plan.name),
            Fact("streams", self.names, "streams", called),
            Fact("how", join.how),
            Fact("direction", join.direction if join.how == "asof" else None),
            Fact("streaming", live),
            Fact("keys", self.keys),
            Fact("filters", [filters.get(name, ()) for name in self.names]),
            Fact("conditions", self.conditions, "conditions", conditions or [none]),
            Fact("windows", words.windows(join), "windows"),
            Fact("lengths", self.lengths),
            Fact("emitted", words.emitted(join, live), "comes out"),
            Fact(None, self.freshness, "freshness"),
            *self.time_facts(newest, join.left.lateness_us, plan.late_rows, join.idle_us, noticed),
            Fact("shards", self.shards.to_dict(), "shards", [self.shards.text]),
            Fact("skew", words.skew(plan) if live else None, "skewed keys"),
            Fact("freshness", next(iter(self.freshness), None)),
            Fact("budget", budget, "budget", [] if budget is None else budget.lines()),
            Fact("algorithm", self.methods, "algorithm", words.method_lines(self.methods)),
            Fact("invalidation", _LAZY if is_lazy else None, "invalidation"),
            Fact("index", words.index(join), "index"),
            Fact("columns", self.columns),
            Fact("state", self.at.sides if live else []),
            Fact("expected", self.expected),
            Fact("burst", self.burst),
            Fact("meanings", self.meanings),
        ]

    def answer(self) -> Iterator[str]:
        """The whole in a few sentences."""
        limited = self.budget is not None
        a, b = map(with_rate, self.names, self.rates)
        yield _KINDS[self.join.how].format(a=a, b=b, match=self._match())
        if not self.streaming:
            yield "All rows are there, so the result comes at the end and nothing is remembered."
            return
        size, rows = (sum(x) for x in zip(*((s.bytes, s.rows) for s in self.at.sides), strict=True))
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
        same = [a for a, b in self.keys if a == b]
        others = [self._named(one.text) for one in self.conditions if one.place != "key"]
        others += [f"{self.names[0]}.{a} = {self.names[1]}.{b}" for a, b in self.keys if a != b]
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

    def spark_conditions(self) -> list[str]:
        """Those of the join that are left to Spark, as its streams are called."""
        return [self._named(text) for text in super().spark_conditions()]

    def operator(self) -> Card:
        """The join, the shuffle and the streams."""
        copies = zip(self.names, self.shards.copies, strict=True)
        sent = [f"{name} to {n}" for name, n in copies if n > 1]
        more = f"; each row of {' and of '.join(sent)} shards" if sent else ""
        streams = tuple(
            self.stream(name, rate, length, "packed into Arrow blocks")
            for name, rate, length in zip(self.names, self.rates, self.lengths, strict=True)
        )
        within = tuple(self._named(one.text) for one in self.conditions if one.place != "spark")
        return Card(
            "join",
            f"{self.join.how} window join",
            within or (_ALL_MATCH,),
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

    def _warnings(self) -> Iterator[Advice]:
        """What may go wrong."""
        plan, join, rest = self.plan, self.join, super().spark_conditions()
        if not join.left.key and join.how != "asof":
            if join.predicate is None and not rest:
                yield warn("cross_join")
            elif join.band is None and join.sets is None:
                yield warn("all_pairs")
        for condition in rest:
            yield warn("left_to_spark", condition=condition, what="pairs")
        if plan.routing.n_shards == 1:
            full = not join.left.key and join.how == "full"
            split = "a full join without an equality cannot be split"
            yield warn("one_shard", why=split if full else "there is one shard")
        elif plan.n_partitions == 1:
            yield warn("one_partition")
        if self.streaming:
            yield from self._about_time()
        if plan.budget is None:
            yield from self.cpu_warnings()
        else:
            yield from self._about_budget()

    def _about_time(self) -> Iterator[Advice]:
        budget, join = self.plan.budget, self.join
        waits = " and rows without a partner wait" if join.keeps(0) or join.keeps(1) else ""
        windows = {f"{name} window": one for name, one in zip(NAMES, join.streams, strict=True)}
        bounded = budget is not None and budget.memory is not None
        yield from self.time_warnings(
            windows,
            can_end=bounded or join.idle_us is not None,
            every="both",
            kept=f"other are all kept{waits}",
        )
        if join.is_ordered:
            yield warn("waits_for_watermark")

    def _about_budget(self) -> Iterator[Advice]:
        """A shard with a hot key leaves out more; windows below a batch are of little use."""
        plan, shedding, planned = self.plan, self.join.shedding, self.planned
        if plan.budget is None or shedding is None:
            return
        if plan.budget.cpu is not None and self.join.left.key and plan.routing.n_shards > 1:
            smaller = "makes a smaller part of its comparisons"
            yield warn("hot_keys_stay", does=smaller if shedding.policy else "drops more rows")
        if planned is None or planned.memory is None or planned.fits:
            return
        seconds = 0.0
        for side, memory, rate in zip(self.at.sides, planned.memory, planned.rates, strict=True):
            size = 1.0 if shedding.memory_unit == "rows" else side.bytes_per_row
            seconds = max(seconds, memory / (size * side.copies * rate))
        if seconds < BATCH_SECONDS:
            holds = f"holds at most {seconds:.2g} s of a stream"
            meet = "rows of different batches will hardly meet"
            yield warn("little_memory", does=f"{holds}: {meet}")
