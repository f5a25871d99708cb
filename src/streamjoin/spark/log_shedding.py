"""Log when a budget begins to bite: for notebooks and programs that show no table of batches."""

import json
import logging
from collections import defaultdict

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from streamjoin.shedding.remarks import Remarks
from streamjoin.spark.watch import read_counters

logger = logging.getLogger(__name__)


def log_shedding(spark: SparkSession) -> StreamingQueryListener:
    """Log a line when joins of a session's queries leave something out, and when they are exact.

    Lines are warnings of Python's `logging`, and a return to the exact join is an info: logger
    ``streamjoin.spark.log_shedding``. It covers all queries of the session, also those that are
    started later.

    Parameters
    ----------
    spark
        The session.

    Returns
    -------
    StreamingQueryListener
        To end it: ``spark.streams.removeListener`` of this.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> listener = sj.log_shedding(spark)
    >>> spark.streams.removeListener(listener)
    """
    listener = SheddingListener()
    spark.streams.addListener(listener)
    return listener


class SheddingListener(StreamingQueryListener):
    """Turns what batches counted into lines of the log."""

    def __init__(self) -> None:
        self._remarks: defaultdict[tuple[str, str], Remarks] = defaultdict(Remarks)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing is counted yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Log what a batch gives reason to say."""
        document = json.loads(event.progress.json)
        if "addBatch" not in document["durationMs"]:
            return  # a trigger without a batch
        for name, counted in read_counters(document).items():
            remark = self._remarks[document["runId"], name].see(document["batchId"], counted)
            if remark is not None:
                level = logging.INFO if remark.endswith("exact again") else logging.WARNING
                logger.log(level, "%s: %s", name, remark)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Forget the query."""
        for key in [key for key in self._remarks if key[0] == str(event.runId)]:
            del self._remarks[key]
