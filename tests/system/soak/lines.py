"""The lines of a load: what was sampled from outside, and what the query says of itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean

from streamjoin.metrics import JoinMetrics
from tests.system.soak.query import HEAP_MB
from tests.system.soak.sampling import DRIVER, JVM, WORKER, Process, Sample
from tests.system.soak.verdict import Line

MB = 1e6


@dataclass(frozen=True)
class Observed:
    """Everything seen of a load; `started` is when its samples begin, in seconds since 1970."""

    name: str
    title: str
    started: float
    samples: Sequence[Sample]
    batches: Sequence[JoinMetrics]

    @property
    def lines(self) -> list[Line]:
        """Memory, batch time, state, open files, files on disk."""
        return [*self._memory(), *self._batches(), *self._open_files(), *self._files()]

    @property
    def facts(self) -> dict[str, str]:
        """What the query did, for the page's reader."""
        rows, seconds = sum(one.rows_in for one in self.batches), self.samples[-1].at
        facts = {
            "batches": f"{len(self.batches):,}",
            "rows a second": f"{rows / seconds:,.0f}",
            "results": f"{sum(one.pairs for one in self.batches):,}",
        }
        if any(one.budget_us for one in self.batches):
            inputs = [each for one in self.batches for each in one.inputs]
            compared, skipped = (
                sum(getattr(i, n) for i in inputs) for n in ("compared", "skipped")
            )
            used = mean(one.cpu_us / one.budget_us for one in self.batches if one.budget_us)
            facts["CPU used of the budget"] = f"{used:.0%}"
            facts["comparisons made"] = f"{compared / max(1, compared + skipped):.0%}"
        return facts

    def _memory(self) -> list[Line]:
        return [
            self._line("JVM, resident", "MB", _sum(JVM, "rss", MB)),
            self._line("JVM, of its own without its heap", "MB", _besides_heap),
            self._line("Python of the driver, of its own", "MB", _sum(DRIVER, "anon", MB)),
            self._line("Python workers, resident", "MB", _sum(WORKER, "rss", MB)),
            self._line("Python workers, of their own", "MB", _sum(WORKER, "anon", MB)),
            self._line("largest Python worker, of its own", "MB", _largest_worker),
        ]

    def _batches(self) -> list[Line]:
        times = [one.at - self.started for one in self.batches]

        def line(name: str, unit: str, value: Callable[[JoinMetrics], float]) -> Line:
            return Line(name, unit, times, [value(one) for one in self.batches])

        return [
            line("batch time", "s", lambda one: one.seconds),
            line("state", "rows", lambda one: one.state_rows),
            line("state, bytes", "MB", lambda one: one.state_bytes / MB),
        ]

    def _open_files(self) -> list[Line]:
        return [
            self._line("open files, JVM", "", _sum(JVM, "open_files")),
            self._line("open files, Python of the driver", "", _sum(DRIVER, "open_files")),
            self._line("open files, Python workers", "", _sum(WORKER, "open_files")),
            self._line("Python workers", "", lambda sample: len(_of(sample, WORKER))),
        ]

    def _files(self) -> list[Line]:
        lines = []
        for name in self.samples[-1].folders:
            number, size = _in_folder(name)
            lines.append(self._line(f"files, {name}", "files", number))
            lines.append(self._line(f"bytes, {name}", "MB on disk", size))
        return lines

    def _line(self, name: str, unit: str, value: Callable[[Sample], float]) -> Line:
        times = [sample.at for sample in self.samples]
        return Line(name, unit, times, [value(sample) for sample in self.samples])


def _of(sample: Sample, role: str) -> list[Process]:
    return [process for process in sample.processes if process.role == role]


def _sum(role: str, attribute: str, unit: float = 1) -> Callable[[Sample], float]:
    return lambda sample: sum(getattr(each, attribute) for each in _of(sample, role)) / unit


def _besides_heap(sample: Sample) -> float:
    """The heap is there as a whole from the start, and would only hide what grows beside it."""
    return _sum(JVM, "anon", MB)(sample) - HEAP_MB * 2**20 / MB


def _largest_worker(sample: Sample) -> float:
    return max((worker.anon for worker in _of(sample, WORKER)), default=0) / MB


def _in_folder(name: str) -> tuple[Callable[[Sample], float], Callable[[Sample], float]]:
    return (lambda sample: sample.folders[name][0]), (lambda sample: sample.folders[name][1] / MB)
