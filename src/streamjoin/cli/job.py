"""All that a run needs, made of its file before Spark starts."""

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamjoin.cli.left_out import LeftOut
from streamjoin.cli.pipeline_file import PipelineFile
from streamjoin.cli.plan import all_rows, resolve
from streamjoin.cli.sections import AVAILABLE_NOW, JoinSection
from streamjoin.cli.sql_file import Settings, plan_of
from streamjoin.cli.table_file import TableFile
from streamjoin.errors import ConfigError

if TYPE_CHECKING:
    from streamjoin.cli.comparison import Comparison
    from streamjoin.spark.pipeline import Pipeline


@dataclass(frozen=True)
class Job:
    """A run that can begin.

    Parameters
    ----------
    settings, pipeline
        The file, and what it means to Spark.
    records
        The folder for what others may read of the run; None if nobody does.
    comparison
        What others would have found; None if the file does not ask for it.
    """

    settings: Settings
    pipeline: "Pipeline"
    records: Path | None = None
    comparison: "Comparison | None" = None

    @classmethod
    def of(cls, settings: Settings, scratch: Path, *, has_page: bool = False) -> "Job":
        """That of a file; for a page there are always records, if need be in the scratch folder."""
        pipeline = plan_of(settings, round(time.time()), scratch)
        records = _records(settings, pipeline)
        if records is None and has_page:
            records = scratch / "metrics"
        return cls(settings, pipeline, records, _comparison(settings, pipeline))

    @property
    def headline(self) -> str:
        """What is joined, in one line."""
        settings = self.settings
        if isinstance(settings, PipelineFile):
            return headline(settings.names, settings.join)
        return settings.headline()

    @property
    def names(self) -> dict[str, str]:
        """What the file calls the streams that the join calls left and right."""
        if not isinstance(self.settings, PipelineFile):
            return {}
        return dict(zip(("left", "right"), self.settings.names, strict=True))

    @property
    def all_rows(self) -> float:
        """After how many rows all streams have ended; of most it is not known that they do."""
        settings = self.settings
        if not isinstance(settings, PipelineFile) or settings.run.trigger == AVAILABLE_NOW:
            return math.inf  # a query that takes all that is there ends by itself
        if self.kept_checkpoint is not None and Path(self.kept_checkpoint).exists():
            return math.inf  # some rows were read before
        return all_rows(settings)

    @property
    def left_out(self) -> LeftOut:
        """What there is to show of its budget; a join with a table leaves nothing out."""
        budget = None if isinstance(self.settings, TableFile) else self.pipeline.budget
        return LeftOut(budget, self.pipeline.shed, is_many=self.pipeline.is_many)

    @property
    def kept_checkpoint(self) -> str | None:
        """The checkpoint, if it outlives the run."""
        return _kept(self.settings, self.pipeline)


def headline(names: tuple[str, str], join: JoinSection) -> str:
    """Say in one line what is joined.

    Examples
    --------
    >>> join = JoinSection(on="k", how="left", time="t", window=("10 s", {"rows": 5}))
    >>> headline(("calls", "trades"), join)
    'Left join of calls with trades on k within 10 s / 5 rows'
    >>> join = JoinSection(on="k", time="t", window="10 s", budget={"rate": 1000})
    >>> headline(("calls", "trades"), join)
    'Inner join of calls with trades on k within 10 s, on a budget of 1,000 tuples/s'
    """
    windows = join.window if isinstance(join.window, tuple) else (join.window,)
    within = " / ".join(w if isinstance(w, str) else f"{w.rows} rows" for w in windows)
    on = "" if join.on is None else f" on {join.on}"
    where = "" if join.where is None else f" where {join.where}"
    budget = "" if join.budget is None else f", on a budget of {join.budget.made().describe()}"
    what = f"{join.how.capitalize()} join of {names[0]} with {names[1]}"
    return f"{what}{on}{where} within {within}{budget}"


def _comparison(settings: Settings, pipeline: "Pipeline") -> "Comparison | None":
    """What others would have found, if the file asks for it; refused where it cannot be known."""
    if not settings.run.compare:
        return None
    from streamjoin.cli.comparison import Comparison
    from streamjoin.spark.pipeline import JoinPipeline

    assert isinstance(pipeline, JoinPipeline)  # no other file may ask for it
    try:
        return Comparison.of(pipeline)
    except ConfigError as error:
        msg = f"{settings.file}: key `run.compare`: got true, but {error}"
        raise ConfigError(msg) from None


def _kept(settings: Settings, pipeline: "Pipeline") -> str | None:
    return pipeline.checkpoint if settings.sink.path or settings.run.checkpoint else None


def _records(settings: Settings, pipeline: "Pipeline") -> Path | None:
    """Where records go: where the file says, or with a checkpoint that is kept on this machine."""
    said = resolve(settings.file, settings.metrics.path)
    if said is not None and "://" in said:
        what = f"got {said!r}; allowed: a folder of this machine"
        msg = f"{settings.file}: key `metrics.path`: {what}"
        raise ConfigError(msg)
    folder = said or _kept(settings, pipeline)
    return None if folder is None or "://" in folder else Path(folder)
