"""A sample of the rows that memory had no room for: it tells what they would have matched.

Rows of the sample are probed like the window they were cut from, but their pairs only count. The
sample stays small: when it grows, half of it is let go, and its share with it.
"""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Side
from streamjoin.core.batch import Batch
from streamjoin.joins.base import WindowStore
from streamjoin.joins.matching import Part
from streamjoin.joins.window_join import END, WindowJoin, WindowJoinState
from streamjoin.shedding.selection import in_sample

SAMPLE: Final = 8
"""First number of the blobs' keys; the side is added."""
MOST_ROWS: Final = 4096
_SHARES: Final = ("_let_in", "_sampled")


class CutSample:
    """The sample of one side, during one batch.

    Parameters
    ----------
    join, state, store
        Settings, directory and the place of the bytes.
    side
        Whose rows.
    """

    def __init__(
        self, join: WindowJoin, state: WindowJoinState, store: WindowStore, side: Side
    ) -> None:
        self._join, self._state, self._store, self._side = join, state, store, side
        self._stream = join.streams[side]
        self._batch = Batch.gather([], self._stream)
        self._let_in = self._sampled = np.empty(0)
        blob = store.get_blob((SAMPLE + side, 0, 0)) if state.sampled[side] else None
        if blob is not None:
            self._read(blob)

    @property
    def part(self) -> Part:
        """The rows, each with its share."""
        return Part(self._batch, share=self._let_in * self._sampled)

    def update(self, cut: list[Part], most_rows: int, most_bytes: float) -> None:
        """Add rows that were cut off, let go what is too old, and write it down."""
        assert self._state.shedding is not None
        shares = self._state.shedding.sample_shares
        share = shares[self._side]
        if cut:
            self._add(cut, share)
        self._keep(self._batch.times >= self._oldest())
        blob = self._blob()
        while len(self._batch) > most_rows or (len(self._batch) and len(blob) > most_bytes):
            share /= 2
            self._sampled = np.minimum(self._sampled, share)
            self._keep(in_sample(self._batch, self._side, share))
            blob = self._blob()
        grows = len(self._batch) < most_rows // 4 and len(blob) < most_bytes / 4
        shares[self._side] = min(1.0, 2 * share) if grows else share
        self._write(blob)

    def _oldest(self) -> int:
        watermark = self._state.watermark
        return -END if watermark is None else watermark - self._stream.window_us

    def _add(self, cut: list[Part], share: float) -> None:
        chosen = [part.batch.where(in_sample(part.batch, self._side, share)) for part in cut]
        let_in = [np.full(len(b), p.share) for b, p in zip(chosen, cut, strict=True)]
        rows = pa.concat_batches([self._batch.rows, *(batch.rows for batch in chosen)])
        self._let_in = np.concatenate([self._let_in, *let_in])
        n = rows.num_rows - len(self._sampled)
        self._sampled = np.concatenate([self._sampled, np.full(n, share)])
        self._batch = Batch(rows, self._stream)

    def _keep(self, holds: NDArray[np.bool_]) -> None:
        self._batch = self._batch.where(holds)
        self._let_in, self._sampled = self._let_in[holds], self._sampled[holds]

    def _blob(self) -> bytes:
        columns = [*self._batch.rows.columns, pa.array(self._let_in), pa.array(self._sampled)]
        rows = pa.RecordBatch.from_arrays(columns, schema=self._schema())
        return bytes(rows.serialize())

    def _schema(self) -> pa.Schema:
        schema = self._stream.stored
        for name in _SHARES:
            schema = schema.append(pa.field(name, pa.float64()))
        return schema

    def _read(self, blob: bytes) -> None:
        rows = pa.ipc.read_record_batch(pa.py_buffer(blob), self._schema())
        self._let_in, self._sampled = (np.asarray(rows.column(name)) for name in _SHARES)
        self._batch = Batch(rows.drop_columns(list(_SHARES)), self._stream)

    def _write(self, blob: bytes) -> None:
        key = (SAMPLE + self._side, 0, 0)
        n = len(self._batch)
        if n:
            self._store.put_blob(key, blob)
        elif self._state.sampled[self._side]:
            self._store.remove_blob(key)
        self._state.sampled[self._side] = len(blob) if n else 0
