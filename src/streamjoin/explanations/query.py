"""Where the parts of a SQL query are evaluated, in words."""

from typing import TYPE_CHECKING, Final

from streamjoin.joins.report import Report

if TYPE_CHECKING:
    from streamjoin.sql_text.query_plan import QueryPlan

_PLACES: Final = {
    "stream": "filter of {}, before the join",
    "key": "key of the join",
    "join": "checked by the join",
    "after": "by Spark, after the join",
}


def explain_query(plan: "QueryPlan") -> Report:
    """Say where the parts of a query are evaluated."""
    names = {source.alias: source.stream for source in plan.query.streams.sources}
    streams = [name if name == alias else f"{name} {alias}" for alias, name in names.items()]
    how, conditions, lines = plan.query.streams.how, [], []
    for one in plan.conditions:
        line, column = plan.query.text.place(one.start)
        place = {"line": line, "column": column, "place": one.place, "stream": one.stream}
        conditions.append({"text": one.text, **place})
        lines.append(f"{one.text}  ({_PLACES[one.place].format(one.stream)})")
    selected = [output.sql for output in plan.outputs]
    return Report(
        "queries",
        f"query: {how} join of {', '.join(streams)}",
        {
            "conditions": lines,
            "carried": [f"{alias}: {', '.join(names)}" for alias, names in plan.columns.items()],
            "selected": [", ".join(selected)],
            "plan": [plan.plan],
        },
        {
            "streams": names,
            "how": how,
            "conditions": conditions,
            "carried": dict(plan.columns),
            "selected": selected,
            "plan": plan.plan,
        },
    )
