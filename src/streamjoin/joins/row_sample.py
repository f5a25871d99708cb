"""A sample of a side's rows: it tells what all of them would have matched.

There is one of the rows that memory had no room for, whose pairs only count, and one of the rows
that are remembered, which is probed everywhere where the windows are probed in part. A sample stays
small: when it grows, half of it is let go, and its share with it.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Side
from streamjoin.core.batch import Batch
from streamjoin.joins.base import WindowStore
from streamjoin.joins.matching import Part
from streamjoin.joins.window_join import END, WindowJoin, WindowJoinState
from streamjoin.shedding.selection import in_sample, in_turn

CUT: Final = 8
LOOKING: Final = 10
"""First numbers of the blobs' keys; the side is added."""
MOST_ROWS: Final = 4096
_SHARES: Final = ("_let_in", "_sampled")


class RowSample:
    """The sample of one side, during one batch.

    Parameters
    ----------
    join, state, store
        Settings, directory and the place of the bytes.
    side
        Whose rows.
    number
        `CUT` or `LOOKING`.
    sizes, shares
        Of both sides: bytes, and the share of new rows that is taken; changed in place.
    most_share
        The largest share.
    """

    def __init__(
        self,
        join: WindowJoin,
        state: WindowJoinState,
        store: WindowStore,
        side: Side,
        number: int,
        sizes: list[int],
        shares: list[float],
        most_share: float = 1.0,
    ) -> None:
        self._state, self._store, self._side = state, store, side
        self._stream = join.streams[side]
        self._key = (number + side, 0, 0)
        self._sizes, self._shares, self._most_share = sizes, shares, most_share
        self._batch = Batch.gather([], self._stream)
        self._let_in = self._sampled = np.empty(0)
        blob = store.get_blob(self._key) if sizes[side] else None
        if blob is not None:
            self._read(blob)

    @property
    def part(self) -> Part:
        """The rows, each with its share."""
        return Part(self._batch, share=self._let_in * self._sampled)

    def at_most(self, share: float) -> Part:
        """Of the rows, at most a share of all that there were."""
        some = self._some(share)
        sampled = np.minimum(self._sampled[some], share)
        return Part(self._batch.where(some), share=self._let_in[some] * sampled)

    def with_new(self, new: Part, share: float) -> tuple[Part, NDArray[np.float64], int]:
        """Stored rows and those of new ones that will be stored, but at most a share of all.

        Returns the rows, each with its share, the part of it that the sample is to blame for, and
        how many are not new.
        """
        share = min(share, self._most_share)
        old = self._some(share)
        limit = min(share, self._shares[self._side])
        fresh = new.batch.where(in_sample(new.batch, self._side, limit))
        batch = Batch(
            pa.concat_batches([self._batch.where(old).rows, fresh.rows]), self._batch.stream
        )
        sampled = np.append(np.minimum(self._sampled[old], share), np.full(len(fresh), limit))
        let_in = np.append(self._let_in[old], np.full(len(fresh), new.chance))
        return Part(batch, share=let_in * sampled), sampled, len(batch) - len(fresh)

    def update(
        self,
        new: Sequence[Part],
        most_rows: int,
        most_bytes: float,
        gone: Sequence[Part] = (),
    ) -> None:
        """Add a part of some rows, let go what is too old, and write it down.

        `gone` are rows, new ones too, for which there was no room elsewhere.
        """
        share, before = self._shares[self._side], len(self._batch)
        self._keep(self._batch.times >= self._oldest())
        if new:
            self._add(new, share)
        for part in gone:
            self._forget(part.batch)
        if not new and len(self._batch) == before:
            return
        blob = self._blob()
        while len(self._batch) > most_rows or (len(self._batch) and len(blob) > most_bytes):
            share /= 2
            self._sampled = np.minimum(self._sampled, share)
            self._keep(in_sample(self._batch, self._side, share))
            blob = self._blob()
        grows = len(self._batch) < most_rows // 4 and len(blob) < most_bytes / 4
        self._shares[self._side] = min(self._most_share, 2 * share) if grows else share
        self._write(blob)

    def _some(self, share: float) -> NDArray[np.bool_]:
        """Which rows a batch meets where it may meet at most a share of all.

        Others in each batch: the share follows from what earlier ones saw of some, so were it the
        same rows again, those that matched much would be met less, and for a larger weight.
        """
        turns = share / self._sampled
        return in_turn(self._batch, self._side, self._state.sequence, turns)

    def _oldest(self) -> int:
        watermark = self._state.watermark
        return -END if watermark is None else watermark - self._stream.window_us

    def _forget(self, gone: Batch) -> None:
        some = gone.where(in_sample(gone, self._side, self._most_share))
        if len(some):
            self._keep(~np.isin(self._batch.contents, some.contents))

    def _add(self, new: Sequence[Part], share: float) -> None:
        chosen = [part.batch.where(in_sample(part.batch, self._side, share)) for part in new]
        let_in = [np.full(len(b), p.chance) for b, p in zip(chosen, new, strict=True)]
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
        n = len(self._batch)
        if n:
            self._store.put_blob(self._key, blob)
        elif self._sizes[self._side]:
            self._store.remove_blob(self._key)
        self._sizes[self._side] = len(blob) if n else 0
