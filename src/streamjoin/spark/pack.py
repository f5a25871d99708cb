"""What map tasks run: rows to packed rows before the shuffle, and blobs to rows after it."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark import TaskContext

from streamjoin.joins.packed import PACKED_DDL
from streamjoin.joins.packing import Decided, Shaper, pack
from streamjoin.spark.channel import Channel
from streamjoin.spark.worker import Run, running, settle

Batches = Iterable[pa.RecordBatch]

TICK: Final = "tick"
FIRST_TICK: Final = 4_102_444_800_000
"""Of batch 0; later than any clock, by which ticks went in older checkpoints."""
TICKING_DDL: Final = f"{PACKED_DDL}, {TICK} long"


@dataclass(frozen=True)
class Packer:
    """Packs the rows of one input; given to ``mapInArrow``."""

    shaper: Shaper
    channel: Channel | None = None
    # Whether the number of the batch goes along, as the watermark of joins whose rows may wait.
    ticks: bool = False

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Packed rows of one map task; called by Spark."""
        context = TaskContext.get()
        yield from self.pack(batches, context.partitionId() if context else 0, running())
        settle()

    def pack(self, batches: Batches, part: int, run: Run) -> Iterator[pa.RecordBatch]:
        """Packed rows of one partition, in the order of its rows."""
        began = time.time_ns() // 1000  # to read decisions is a part of what the task takes
        decided = Decided() if self.channel is None else self.channel.decided(run)
        for packed in pack(self.shaper, batches, part, decided, began):
            tick = [FIRST_TICK + (run.batch or 0)] * packed.num_rows
            yield packed.append_column(TICK, pa.array(tick)) if self.ticks else packed


def unpacker(schema: pa.Schema) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """A function for ``mapInArrow`` that turns result blobs into rows."""

    def unpack(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column("blob"):
                yield pa.ipc.read_record_batch(blob.as_buffer(), schema)

    return unpack
