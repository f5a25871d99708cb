"""How shards tell later batches what they decided: through files in a folder that all machines see.

Map tasks learn which keys are hot and which part of the rows to let in; the operators of one plan
learn what the others measured. Everything is decided at the end of a batch, kept in the state of
the shard that decides, and read by batches after it: so a batch that is run again reads the same
files. Files appear whole, and what no batch reads any more is removed.

What a lost file costs: hot keys are noticed missing, written again, and the query is to be started
again; a gate opens; a plan goes on with what was decided before.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pyarrow.fs as pafs

from streamjoin.core.sealed import is_sealed, parse_json, seal, unseal
from streamjoin.errors import StateError
from streamjoin.joins.base import Tasks
from streamjoin.joins.folders import files_in, system_of, write_bytes
from streamjoin.joins.packing import Decided
from streamjoin.joins.routing import HotKey, describe_hot

_NO_KEYS: Final = "[]"
OPEN: Final = (1.0, 1.0)

# Names of files: the numbers in them say who wrote them in which batch.
_HOT: Final = "{}-{}.json"  # label, batch
_GATE: Final = "gate-{}.json"  # batch
_PLAN: Final = "plan-{}-{}-{}.json"  # batch, operator, shard
_DECISIONS: Final = "decisions-{}.json"  # shard

Numbers = tuple[int, ...]


class Run(NamedTuple):
    """What a task works for.

    Parameters
    ----------
    query
        Id of the query: one DataFrame may be started as several.
    batch
        Number of the micro-batch; None outside of one.
    attempt
        Tells this run of the task from all others.
    """

    query: str
    batch: int | None
    attempt: int


NO_RUN: Final = Run("None", None, 0)


@dataclass(frozen=True)
class Channel:
    """The files of one join, or of all operators of one plan."""

    folder: str  # of all queries
    name: str  # the join's, as there may be several in a query
    labels: tuple[int, ...]  # names of the shards, in order
    # Numbers of the shards of each task, where hot keys are spread.
    tasks: Tasks = ()
    has_gate: bool = False
    n_operators: int = 0  # of a plan with one budget
    operator: int = 0
    # For what and by which shard it is used; map tasks are of no shard.
    run: Run = NO_RUN
    number: int = 0

    def at(self, run: Run, number: int = 0) -> "Channel":
        """The same in one batch, for map tasks or for one shard."""
        return replace(self, run=run, number=number)

    def decided(self) -> Decided:
        """What map tasks of a batch go by."""
        if self.run.batch is None:
            return Decided()
        hot = self._hot_keys(self.run.batch) if self.tasks else None
        return Decided(hot, self._gate(self.run.batch) if self.has_gate else OPEN)

    def check_hot(self, keys: Sequence[HotKey], known: Iterable[str]) -> None:
        """Refuse a batch whose map tasks did not know what this shard decided."""
        if all((text or _NO_KEYS) == describe_hot(keys) for text in known):
            return
        mine = self.labels[self.number]
        self._remove(file for (label, _), file in self._files(_HOT) if label == mine)
        for hot in keys:
            self.tell_hot(hot)
        raise StateError(
            f"hot_keys: files in {self.folder!r} were lost or changed and have been "
            "written again; start the query again (the folder must be one that all machines see)"
        )

    def tell_hot(self, hot: HotKey) -> None:
        """Write a decision; the same one, written by another run, is left alone."""
        numbers = self.labels[self.number], hot.batch
        file = dict(self._files(_HOT)).get(numbers)
        if file is None or self._read_hot(file) != [hot]:
            self._write(_HOT.format(*numbers), asdict(hot))

    def tell_gate(self, shares: tuple[float, float]) -> None:
        """Write a decision for the batches after this one, and remove what no batch reads."""
        batch = self.run.batch
        if batch is None:
            return
        files = {decided: file for (decided,), file in self._files(_GATE)}
        if shares == OPEN and not files:
            return
        self._write_once(_GATE.format(batch), shares)
        # The newest one before is for a second run of this batch.
        needed = max((decided for decided in files if decided < batch), default=batch)
        self._remove(file for decided, file in files.items() if decided < needed)

    def measured(self) -> list[dict[str, Any]] | None:
        """What all shards of all operators measured in the batch before; None if not known.

        In the order of operators and shards.
        """
        if self.run.batch is None:
            return None
        files = dict(self._files(_PLAN))
        operators, shards = range(self.n_operators), range(len(self.labels))
        wanted = [(self.run.batch - 1, i, j) for i in operators for j in shards]
        if any(numbers not in files for numbers in wanted):
            return None
        values = [_read(self.folder, files[numbers].path) for numbers in wanted]
        return values if all(isinstance(value, dict) for value in values) else None

    def tell_measured(self, values: dict[str, Any]) -> None:
        """Tell what this shard measured in this batch, and remove what no batch reads any more."""
        batch, mine = self.run.batch, (self.operator, self.number)
        if batch is None:
            return
        self._write_once(_PLAN.format(batch, *mine), values)
        self._remove(
            file
            for (at, *whose), file in self._files(_PLAN)
            if (*whose,) == mine and at < batch - 1
        )

    def log(self, decided: dict[str, Any]) -> None:
        """Write what was decided lately, for people to read."""
        text = json.dumps(decided, indent=2)
        write_bytes(*self._place(_DECISIONS.format(self.number)), self.run.attempt, text.encode())

    def _files(self, name: str) -> list[tuple[Numbers, pafs.FileInfo]]:
        """Files of a kind, with the numbers in their names; a copy may have the same."""
        pattern = re.compile(re.escape(name).replace(r"\{\}", r"(\d+)"), re.ASCII)
        files = ((pattern.fullmatch(file.base_name), file) for file in files_in(*self._place()))
        return [(tuple(map(int, match.groups())), file) for match, file in files if match]

    def _write_once(self, name: str, value: Any) -> None:
        """Write a file unless another run of the task has: a later batch may have read that."""
        system, path = self._place(name)
        if system.get_file_info(path).type == pafs.FileType.NotFound:
            self._write(name, value)

    def _write(self, name: str, value: Any) -> None:
        """Write a file with its checksum, or replace it."""
        sealed = seal(json.dumps(value).encode())
        write_bytes(*self._place(name), self.run.attempt, sealed)

    def _remove(self, files: Iterable[pafs.FileInfo]) -> None:
        """Remove files that no batch reads any more."""
        system, _ = system_of(self.folder)
        for file in files:
            with contextlib.suppress(FileNotFoundError):  # a second run of the task was first
                system.delete_file(file.path)

    def _read_hot(self, file: pafs.FileInfo) -> list[HotKey]:
        """The hot key that a file says; none if it is damaged. Such a file never changes."""
        return list(_hot_key(self.folder, file.path, file.mtime_ns, file.size))

    def _hot_keys(self, batch: int) -> dict[int, list[HotKey]]:
        """What the shards, by label, decided before a batch."""
        keys: dict[int, list[HotKey]] = {label: [] for label in self.labels}
        for (label, decided), file in self._files(_HOT):
            if label in keys and decided < batch:
                keys[label] += self._read_hot(file)
        return {label: sorted(hot, key=lambda one: one.batch) for label, hot in keys.items()}

    def _gate(self, batch: int) -> tuple[float, float]:
        """What a batch lets in of the left and of the right: the newest decision before it."""
        files = {decided: file for (decided,), file in self._files(_GATE) if decided < batch}
        if not files:
            return OPEN
        try:
            left, right = map(float, _read(self.folder, files[max(files)].path))
        except (ValueError, TypeError, OverflowError):  # damaged, or no pair of numbers
            return OPEN
        return (left, right) if 0 <= min(left, right) <= max(left, right) <= 1 else OPEN

    def _place(self, name: str = "") -> tuple[pafs.FileSystem, str]:
        """The file system, and the path of a file in it or of the folder with all of them."""
        system, root = system_of(self.folder)
        folder = f"{root}/{self.run.query}/{quote(self.name, safe='')}"
        return system, f"{folder}/{name}" if name else folder


def _read(folder: str, path: str) -> Any:
    """What a file says; None if it is damaged. One that is gone by now fails the task."""
    with system_of(folder)[0].open_input_stream(path) as file:
        blob: bytes = file.read()
    try:
        return parse_json(bytes(unseal(blob)) if is_sealed(blob) else blob)  # 0.1.0 had no seals
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def _hot_key(folder: str, path: str, mtime_ns: int, size: int) -> tuple[HotKey, ...]:
    """The decision of a file as it was at some time."""
    try:
        return (HotKey.from_dict(_read(folder, path)),)
    except (ValueError, TypeError, KeyError):
        return ()
