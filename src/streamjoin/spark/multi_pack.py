"""Packing for operators of a plan of many joins."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from streamjoin.joins.multi.settings import Input, MultiJoin
from streamjoin.spark.pack import Marks, Packer


@dataclass(frozen=True)
class PlanPacker(Packer):
    """Packs one input of an operator.

    What an operator before has found comes with rows that say how far it has come: those hold
    nothing else, and are taken out here.
    """

    def _without_marks(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Marks | None]:
        one = self._input
        if one.reached is None or one.newest is None:
            return rows, None
        reached, newest = rows.column(one.reached), rows.column(one.newest)
        marks = pc.max(reached).as_py(), pc.max(newest).as_py()
        # A mark that says nothing yet has no time either.
        return rows.filter(rows.column(one.stream.time).is_valid()), marks

    @property
    def _input(self) -> Input:
        assert isinstance(self.join, MultiJoin)
        return self.join.inputs[self.side]
