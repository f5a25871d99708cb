"""How operators of one plan learn what the others measured: through files that their shards write.

What a half-way join may do depends on the whole plan, and an operator sees only its own joins. So
each shard of each operator writes what it measured in a batch, and in the next batch all of them
read all of that and decide, alike, as they know the same. A batch that is run again reads the same
files. Where one is missing, what was decided before goes on.
"""

import contextlib
import json
from dataclasses import dataclass
from typing import Any

from streamjoin.core.sealed import parse_json
from streamjoin.spark.folders import files_in, read_sealed, write_sealed, write_whole
from streamjoin.spark.hot_keys import place_of
from streamjoin.spark.worker import Run

_FIRST, _LAST = "plan-", ".json"


@dataclass(frozen=True)
class PlanFolder:
    """What the operators of one plan measured.

    Parameters
    ----------
    folder
        Where that of all queries is.
    name
        The join's, as there may be several in a query.
    steps, shards
        How many operators there are, and how many shards each has.
    """

    folder: str
    name: str
    steps: int
    shards: int

    def read(self, run: Run) -> list[dict[str, Any]] | None:
        """What all shards of all operators measured in the batch before; None if that is not known.

        In the order of operators and shards.
        """
        if run.batch is None:
            return None
        files = self._files(run)
        wanted = [(run.batch - 1, i, j) for i in range(self.steps) for j in range(self.shards)]
        if any(place not in files for place in wanted):
            return None
        system, _ = place_of(self.folder, self.name, run)
        try:
            return [parse_json(read_sealed(system, files[place])) for place in wanted]
        except ValueError:  # damaged: as good as missing
            return None

    def write(self, run: Run, step: int, shard: int, measured: dict[str, Any]) -> None:
        """Tell what a shard measured in this batch, and remove what no batch reads any more."""
        if run.batch is None:
            return
        system, folder = place_of(self.folder, self.name, run)
        path = f"{folder}/{_FIRST}{run.batch}-{step}-{shard}{_LAST}"
        write_sealed(system, path, run.attempt, json.dumps(measured))
        for (batch, *whose), old in self._files(run).items():
            if whose == [step, shard] and batch < run.batch - 1:
                with contextlib.suppress(FileNotFoundError):  # a second run of the task was first
                    system.delete_file(old)

    def log(self, run: Run, shard: int, decided: dict[str, Any]) -> None:
        """Write what a shard decided lately, for people to read."""
        system, folder = place_of(self.folder, self.name, run)

        def write(draft: str) -> None:
            with system.open_output_stream(draft) as file:
                file.write(json.dumps(decided, indent=2).encode())

        write_whole(system, f"{folder}/decisions-{shard}.json", run.attempt, write)

    def _files(self, run: Run) -> dict[tuple[int, ...], str]:
        system, folder = place_of(self.folder, self.name, run)
        found = files_in(system, folder)
        named = {file.base_name: file.path for file in found}
        parts = {
            name.removeprefix(_FIRST).removesuffix(_LAST): path
            for name, path in named.items()
            if name.startswith(_FIRST) and name.endswith(_LAST)
        }
        return {
            tuple(map(int, key.split("-"))): path
            for key, path in parts.items()
            if key.replace("-", "").isdecimal() and key.count("-") == 2
        }
