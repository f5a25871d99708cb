"""What Spark calls: the stateful operator, which is handed its join in pickled form.

For each query Spark starts a Python process in the driver, only to ask which state the operator
has. It imports anew all that this module imports, so there is no Numba, Arrow or pandas here: the
runner of shards, and with it all that joins, is loaded when the first rows come.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from streamjoin.spark.worker import settle

if TYPE_CHECKING:
    import pandas as pd

    from streamjoin.spark.processor import ShardRunner

# Types, not DDL text: PySpark would ask the JVM to parse text in every task.
STATE_KEY: Final = StructType(
    [
        StructField("side", IntegerType()),
        StructField("slice", LongType()),
        StructField("sequence", LongType()),
    ]
)
STATE_VALUE: Final = StructType([StructField("blob", BinaryType())])
# As Spark sends functions to its workers; untyped there.
_SERIALIZER: Any = CloudPickleSerializer()  # type: ignore[no-untyped-call]


class ShardProcessor(StatefulProcessor):
    """Runs a shard on its state in every micro-batch, and when the stream pauses if it is timed.

    Its runner is unpickled when it is first needed.
    """

    def __init__(self, runner: "ShardRunner") -> None:
        self._pickled: bytes = _SERIALIZER.dumps(runner)

    @cached_property
    def _runner(self) -> Any:
        return _SERIALIZER.loads(self._pickled)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; called by Spark."""
        self._handle = handle
        self._windows = handle.getMapState("windows", STATE_KEY, STATE_VALUE)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator["pd.DataFrame"]:
        """Join one shard's part of a micro-batch; called by Spark."""
        yield from self._joined(key, rows, timerValues, end=False)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator["pd.DataFrame"]:
        """Answer all that was left, as the stream pauses; called by Spark."""
        yield from self._joined(key, iter(()), timerValues, end=True)

    def close(self) -> None:
        """Nothing to release; called by Spark."""

    def _joined(self, key: Any, rows: Any, times: Any, end: bool) -> Iterator["pd.DataFrame"]:
        from streamjoin.spark.processor import join_frames

        state = self._handle, self._windows
        yield from join_frames(self._runner, state, int(key[0]), rows, times, end)
        settle()
