"""What shards tell is put together by sums, and by means of what is measured."""

import pyarrow as pa

from streamjoin.core.stream import Stream
from streamjoin.metrics import BasicWindows, Details, InputMetrics, JoinMetrics
from streamjoin.metrics.words import lines_of


def shard(cost: float) -> Details:
    strip = BasicWindows(1.0, (2.0,), (1.0,), (cost,), (cost,))
    return Details(costs_us={"comparing": cost}, windows={"left": strip}, budget_us=5)


def test_the_mean_of_many_shards_is_that_of_all() -> None:
    both = Details.together([shard(cost) for cost in (1.0, 1.0, 1.0, 9.0)])
    assert both.costs_us == {"comparing": 3.0}
    assert both.windows["left"] == BasicWindows(1.0, (8.0,), (4.0,), (12.0,), (3.0,))
    assert both.budget_us == 20
    assert Details.together([]) == Details()


def test_times_without_a_zone_are_no_instants() -> None:
    for zone, known in (("UTC", True), (None, False)):
        schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("us", zone))])
        assert Stream(schema, (0,), 1, 10).has_instants is known


def test_of_many_streams_the_error_of_the_recall_is_not_said() -> None:
    one = InputMetrics("a", rows=4)
    many = JoinMetrics(kind="plan", inputs=(one,), pairs=75, missed=25)
    assert "  recall       75 %" in list(lines_of(many, many))
    two = JoinMetrics(inputs=(one,), pairs=75, missed=25, missed_variance=-3.0)
    found = two.recall_interval  # of a batch in which the estimate of all became surer
    assert found is not None
    assert found[0] < 0.75 < found[1]
