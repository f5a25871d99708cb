"""What is public resolves, and importing it stays light."""

import subprocess
import sys

import pytest

import streamjoin as sj


def test_every_public_name_resolves() -> None:
    assert all(getattr(sj, name) is not None for name in sj.__all__)


def test_completion_knows_every_public_name() -> None:
    """Also in a process that has used none of them yet."""
    code = "import streamjoin as sj; print(*dir(sj))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(sj.__all__) <= set(done.stdout.split())


def test_all_errors_are_public() -> None:
    kinds = {kind.__name__ for kind in sj.StreamJoinError.__subclasses__()}
    assert kinds | {"StreamJoinError"} <= set(sj.__all__)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'jion'"):
        sj.jion  # noqa: B018  # looking it up is the test


@pytest.mark.alone
def test_import_is_light() -> None:
    """No Spark, Numba or Arrow is loaded; half a second is the limit, most of it Python's own."""
    code = (
        "import sys, time; t = time.perf_counter(); import streamjoin; "
        "print(time.perf_counter() - t, *(m for m in ('pyspark', 'numba', 'pyarrow') "
        "if m in sys.modules))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    seconds = min(float(done.stdout.split()[0]) for done in runs)
    assert seconds < 0.5
    assert runs[0].stdout.split()[1:] == []


def test_a_join_loads_nothing_that_only_measures() -> None:
    measuring = "streamjoin.calibration.measuring"
    code = f"import sys, streamjoin as sj; sj.join; print({measuring!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_tables_need_no_spark() -> None:
    names = "sj.parquet_table, sj.sql_table, sj.local.LocalTableJoin"
    code = f"import sys, streamjoin as sj; {names}; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("module", ["pyspark", "pandas", "pyarrow", "google.protobuf"])
def test_a_missing_package_is_named(module: str) -> None:
    code = (
        "import sys, importlib.util as u; find = u.find_spec; "
        f"u.find_spec = lambda n, p=None: None if n == {module!r} else find(n, p); "
        "import streamjoin as sj\n"
        "try: sj.join\n"
        "except ImportError as e: print(type(e).__name__, e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        f"MissingExtraError {module} is not installed; "
        'install it with: pip install "streamjoin[spark]"'
    )
