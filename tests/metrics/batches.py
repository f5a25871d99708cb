"""Batches with a number in every field that the kind of join fills."""

from streamjoin.metrics import Ages, BasicWindows, InputMetrics, JoinMetrics, TableMetrics

STRIP = BasicWindows(30.0, (80.0, 20.0), (0.0, 60.0), (40.0, 4.0), (0.5, 0.05))


def selective(batch: int = 0, name: str = "streamjoin") -> JoinMetrics:
    """A join of two streams that has not the CPU for all of its window."""
    return JoinMetrics(
        name=name, batch=batch, at=1000.0 + 2 * batch, seconds=1.5,
        inputs=(
            InputMetrics(
                "left", rows=1000, late=5, idle_late=2, null=3, dropped=7, cut=11, alone=13,
                compared=300, skipped=700, state_rows=400, state_bytes=4000,
            ),
            InputMetrics("right", rows=500, compared=80, skipped=20, state_rows=100, state_bytes=1),
        ),
        pairs=75, rows_out=88, stale=4, missed=25, missed_variance=16.0, unmet=720.0,
        unmet_weight=90.0, state_rows=500, state_bytes=5000, held_rows=6, work=1600, busiest=400,
        hot_keys=2, selective=4, lagging=1,
        cpu_us=450_000, budget_us=500_000, costs_us={"comparing": 0.02, "receiving": 0.5},
        planned=400, looked_at=90, behind=3.5, ages=Ages({100: 60, 108: 15}, 150.0),
        windows={"left": STRIP, "right": STRIP}, algorithm="batch 1, hash 3",
    )  # fmt: skip


def of_many_streams(batch: int = 0) -> JoinMetrics:
    """A join of three streams on a budget."""
    return JoinMetrics(
        name="orders", kind="plan", batch=batch, at=1000.0 + 2 * batch, seconds=0.2,
        inputs=(InputMetrics("a", rows=10), InputMetrics("b", rows=20), InputMetrics("c", rows=30)),
        pairs=9, rows_out=9, allowances={"a with b": 120.0, "c": 30.0}, driver="b",
    )  # fmt: skip


def with_a_table(batch: int = 0) -> JoinMetrics:
    """A join of a stream with a table."""
    return JoinMetrics(
        name="people", kind="table", batch=batch, at=1000.0 + 2 * batch, seconds=0.2,
        inputs=(InputMetrics("stream", rows=100),), pairs=90, rows_out=90,
        table=TableMetrics(60, 40, 3, 8, 5, 1000, 20, 30), algorithm="cache",
    )  # fmt: skip
