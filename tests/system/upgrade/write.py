"""Write the checkpoints of the installed version, to be kept for those that come.

python -m tests.system.upgrade.write

Each is that of a query that was stopped when its third batch had written its state but was not
committed.
"""

import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

import streamjoin as sj
from streamjoin.spark.session import start_session
from tests.system.upgrade.archive import DATA, archive_of, pack
from tests.system.upgrade.cases import CASES
from tests.system.upgrade.story import begin


def main() -> None:
    target = archive_of(sj.__version__)
    if target.exists():
        sys.exit(f"{target} exists; a version is written once")
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        # costs that somebody measured on this machine must not change what is written
        os.environ["STREAMJOIN_CALIBRATION"] = f"{work}/none"
        spark = start_session("upgrade", master="local[2,2]", conf={"spark.driver.memory": "1g"})
        draft = Path(work) / target.name
        with tarfile.open(draft, "w:xz") as archive:
            for name, case in CASES.items():
                base = Path(work) / name
                base.mkdir()
                begin(spark, case, base)
                pack(base, name, archive)
        shutil.move(draft, target)
    sys.stdout.write(f"{target}: {target.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
