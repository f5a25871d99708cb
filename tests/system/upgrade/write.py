"""Write the checkpoints of the installed version, to be kept for those that come.

python -m tests.system.upgrade.write

A file ``data/VERSION.tar.xz`` has, for each case, the streams, the checkpoint of a query that was
stopped in the middle of a batch, and the rows that came out before. Paths in it begin with `ROOT`.
"""

import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.spark.session import start_session
from tests.system.upgrade.cases import BEFORE, CASES, STOPPED, write_streams, write_table

DATA: Final = Path(__file__).parent / "data"
ROOT: Final = "/root-of-the-case"
WITH_PATHS: Final = {"sources", "_metadata"}
"""Folders of a checkpoint in which Spark writes down paths."""
RESULTS: Final = "results.json"
Rows = list[dict[str, Any]]


def stopped(spark: SparkSession, case: str, base: Path) -> None:
    """Run a case until its sink fails in the third batch."""
    write_streams(base, 0, STOPPED)
    write_table(base / "table")
    rows: Rows = []
    try:
        run(CASES[case](spark, base), base, rows, stop_at=BEFORE)
    except StreamingQueryException:
        (base / RESULTS).write_text(json.dumps(rows, default=str))
    else:
        msg = f"{case}: the query was not stopped"
        raise RuntimeError(msg)


def run(joined: DataFrame, base: Path, rows: Rows, stop_at: int | None = None) -> None:
    """Add the rows of all batches; the sink fails in the batch `stop_at`, before it has any."""

    def sink(frame: DataFrame, batch: int) -> None:
        if batch == stop_at:
            msg = "stopped here"
            raise RuntimeError(msg)
        rows.extend(row.asDict() for row in frame.collect())

    writer = joined.writeStream.foreachBatch(sink).trigger(availableNow=True)
    writer.option("checkpointLocation", str(base / "checkpoint")).start().awaitTermination()


def pack(base: Path, case: str, archive: tarfile.TarFile) -> None:
    """Add what a case has left; Hadoop's own checksums go, as some texts change."""
    for path in sorted(base.rglob("*")):
        inner = path.relative_to(base)
        is_hidden_sum = path.name.startswith(".") and path.suffix == ".crc"
        if path.is_dir() or is_hidden_sum or inner.parts[0] in ("index", "table"):
            continue
        content = path.read_bytes()
        if WITH_PATHS & set(inner.parts):
            content = content.replace(str(base).encode(), ROOT.encode())
        member = tarfile.TarInfo(f"{case}/{inner}")
        member.size = len(content)
        member.mtime = int(path.stat().st_mtime)  # Spark's sources remember it
        archive.addfile(member, io.BytesIO(content))


def unpack(archive: Path, case: str, base: Path) -> None:
    """Put a case's files into a folder, as if they had been written there."""
    with tarfile.open(archive) as file:
        for member in file.getmembers():
            if member.name.startswith(f"{case}/"):
                member.name = member.name.removeprefix(f"{case}/")
                file.extract(member, base, filter="data")
    for path in (base / "checkpoint").rglob("*"):
        if path.is_file() and WITH_PATHS & set(path.relative_to(base).parts):
            path.write_bytes(path.read_bytes().replace(ROOT.encode(), str(base).encode()))


def main() -> None:
    DATA.mkdir(exist_ok=True)
    target = DATA / f"{sj.__version__}.tar.xz"
    if target.exists():
        sys.exit(f"{target} exists; a version is written once")
    spark = start_session("upgrade", master="local[2]", conf={"spark.driver.memory": "1g"})
    with tempfile.TemporaryDirectory() as work, tarfile.open(target, "w:xz") as archive:
        for case in CASES:
            base = Path(work) / case
            base.mkdir()
            stopped(spark, case, base)
            pack(base, case, archive)
    sys.stdout.write(f"{target}: {target.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
