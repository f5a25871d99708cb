"""How map tasks learn which part of the rows to let in: through files that a shard writes.

The shard decides at the end of a batch for the next one and keeps the decision in its state; map
tasks of later batches read the newest file of an earlier batch, so one that is run again lets in
the same rows. Each packed row says what was let in; a file that is lost only opens the gate.
"""

import json
from dataclasses import dataclass

import pyarrow.fs as pafs

from streamjoin.core.sealed import parse_json
from streamjoin.spark.folders import files_in, read_sealed, write_sealed
from streamjoin.spark.hot_keys import place_of
from streamjoin.spark.worker import Run

_FIRST, _LAST = "gate-", ".json"
Shares = tuple[float, float]
OPEN: Shares = (1.0, 1.0)


@dataclass(frozen=True)
class GateFolder:
    """The decisions of one join.

    Parameters
    ----------
    folder
        Where those of all queries are.
    name
        The join's, as there may be several in a query.
    """

    folder: str
    name: str

    def read(self, run: Run) -> Shares:
        """What a batch lets in of the left and of the right."""
        if run.batch is None:
            return OPEN
        system, _ = self._place(run)
        decided = {batch: path for batch, path in self._files(run) if batch < run.batch}
        if not decided:
            return OPEN
        try:
            left, right = map(float, parse_json(read_sealed(system, decided[max(decided)])))
        except (ValueError, TypeError, OverflowError):  # damaged, or no pair of numbers
            return OPEN
        return (left, right) if 0 <= min(left, right) <= max(left, right) <= 1 else OPEN

    def write(self, run: Run, shares: Shares) -> None:
        """Write a decision for the batches after this one, and remove what no batch reads."""
        if run.batch is None:
            return
        files = self._files(run)
        if shares == OPEN and not files:
            return
        system, folder = self._place(run)
        path = f"{folder}/{_FIRST}{run.batch}{_LAST}"
        write_sealed(system, path, run.attempt, json.dumps(shares))
        # The newest one before is for a second run of this batch.
        needed = max((batch for batch, _ in files if batch < run.batch), default=run.batch)
        for batch, path in files:
            if batch < needed:
                system.delete_file(path)

    def _files(self, run: Run) -> list[tuple[int, str]]:
        system, folder = self._place(run)
        found = files_in(system, folder)
        names = [(file.base_name, file.path) for file in found]
        return [
            (int(number), path)
            for name, path in names
            if name.startswith(_FIRST)
            and (number := name.removeprefix(_FIRST).removesuffix(_LAST)).isdecimal()
        ]

    def _place(self, run: Run) -> tuple[pafs.FileSystem, str]:
        return place_of(self.folder, self.name, run)
