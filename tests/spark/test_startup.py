"""How Python workers start, without a Spark: the daemon is a process as Spark starts it."""

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pyspark
import pytest

from streamjoin.spark.worker import FOLDER, hasten, without_archives

HOME = Path(pyspark.__file__).parent
ARCHIVES = [*map(str, (HOME / "python" / "lib").glob("*.zip")), *map(str, HOME.glob("jars/*core*"))]

linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="Spark's daemon runs there")


class Daemon(NamedTuple):
    module: str
    threads: int
    has_numba: bool
    port: int


@contextmanager
def environment(*paths: str | Path) -> Iterator[dict[str, str]]:
    """That of a Python worker: Spark's archives before all else."""
    before = os.environ.get("PYTHONPATH", "")
    names = os.pathsep.join([*ARCHIVES, *map(str, paths), before])
    yield {**os.environ, "PYTHONPATH": names, "OMP_NUM_THREADS": "1"}


def start_daemon(environment: dict[str, str]) -> Daemon:
    """Start it as Spark does, wait for its port, look at it, and let it end."""
    command = [sys.executable, "-m", "streamjoin.spark.daemon", "pyspark.worker"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        (port,) = struct.unpack("!i", process.stdout.read(4))
        proc = Path("/proc", str(process.pid))
        found = Daemon(
            module=proc.joinpath("cmdline").read_text().split("\0")[2],
            threads=len(list(proc.joinpath("task").iterdir())),
            has_numba="llvmlite" in proc.joinpath("maps").read_text(),
            port=port,
        )
        assert process.communicate()[0] == b"", "there is more than the port on standard output"
    return found


@linux
def test_the_daemon_has_all_imported_and_one_thread() -> None:
    with environment() as env:
        found = start_daemon(env)
    assert found[:3] == ("streamjoin.spark.daemon", 1, True)
    assert 0 < found.port < 1 << 16


@linux
def test_what_imports_print_does_not_reach_spark(tmp_path: Path) -> None:
    (tmp_path / "llvmlite.py").write_text("print('hello'); import os; os.write(1, b'hello')")
    with environment(tmp_path) as env:
        assert 0 < start_daemon(env).port < 1 << 16


@linux
@pytest.mark.parametrize(
    "trouble",
    ["raise ImportError", "import threading; threading.Thread(target=input, daemon=True).start()"],
)
def test_where_it_cannot_fork_what_it_needs_sparks_own_daemon_runs(
    tmp_path: Path, trouble: str
) -> None:
    (tmp_path / "numpy.py").write_text(trouble)
    with environment(tmp_path) as env:
        assert start_daemon(env)[:3] == ("pyspark.daemon", 1, False)


def asked(code: str, *paths: str | Path) -> str:
    with environment(*paths) as env:
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
    return done.stdout.strip()


def test_workers_load_the_pyspark_that_is_compiled() -> None:
    where = "import pyspark; print(pyspark.__file__)"
    assert ".zip" in asked(where)
    assert Path(asked(where, FOLDER)).resolve() == Path(pyspark.__file__).resolve()


def test_a_sitecustomize_of_the_users_own_runs_too(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.mine = 1")
    code = "import sys, sitecustomize; print(sys.mine, sitecustomize.__file__)"
    assert asked(code, FOLDER, tmp_path) == f"1 {tmp_path}/sitecustomize.py"


@pytest.mark.parametrize("missing", ["pyspark", "py4j"])
def test_archives_stay_where_nothing_else_has_their_modules(tmp_path: Path, missing: str) -> None:
    other = {"pyspark": "py4j", "py4j": "pyspark"}[missing]
    home = tmp_path / "pyspark"
    (home / "python" / "lib").mkdir(parents=True)
    packed = str(home / "python" / "lib" / "pyspark.zip")
    (tmp_path / other).mkdir(exist_ok=True)
    (tmp_path / other / "__init__.py").touch()
    assert without_archives([packed, str(tmp_path)]) == [packed, str(tmp_path)]
    (tmp_path / missing).mkdir(exist_ok=True)
    (tmp_path / missing / "__init__.py").touch()
    assert without_archives([packed, str(tmp_path)]) == [str(tmp_path)]


def test_archives_of_another_spark_stay(tmp_path: Path) -> None:
    packed = str(tmp_path / "python" / "lib" / "pyspark.zip")
    assert without_archives([packed, *sys.path]) == [packed, *sys.path]


def test_the_path_that_a_session_gives_its_workers_is_kept() -> None:
    context: Any = SimpleNamespace(environment={"PYTHONPATH": "mine", "OTHER": "1"})
    for _ in range(2):
        hasten(context)
    assert context.environment == {"PYTHONPATH": f"{FOLDER}{os.pathsep}mine", "OTHER": "1"}
