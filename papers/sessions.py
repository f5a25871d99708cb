"""Spark, started when an experiment first asks for it."""

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from streamjoin.errors import StreamJoinError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class LazySpark:
    """A Spark session that starts on first use, or the reason why there is none.

    Parameters
    ----------
    session
        One that runs already; it is not stopped here.
    absent
        A reason not to start any.

    Examples
    --------
    >>> spark = LazySpark(absent="not wanted")
    >>> spark.session() is None, spark.absent
    (True, 'not wanted')
    """

    def __init__(self, session: "SparkSession | None" = None, absent: str = "") -> None:
        self.absent = absent
        self._session = session
        self._scratch: Path | None = None

    def session(self) -> "SparkSession | None":
        """The session; None, and `absent` says why, if it cannot start."""
        if self._session is None and not self.absent:
            try:
                self._session = self._start()
            except StreamJoinError as error:
                self.absent = str(error)
        return self._session

    def stop(self) -> None:
        """Stop what was started here."""
        if self._scratch is not None and self._session is not None:
            self._session.stop()
            self._session = None
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _start(self) -> "SparkSession":
        from streamjoin.spark.session import start_session

        self._scratch = Path(tempfile.mkdtemp(prefix="sj-repro-"))
        return start_session(
            "streamjoin reproduce",
            master="local[2]",
            conf={
                "spark.sql.session.timeZone": "UTC",
                # The streams are small: what counts is to start quickly.
                "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
                "spark.sql.codegen.wholeStage": "false",
                "spark.sql.shuffle.partitions": "1",
                "spark.local.dir": str(self._scratch),
                "spark.sql.warehouse.dir": str(self._scratch / "warehouse"),
            },
            log=self._scratch / "spark.log",
        )
