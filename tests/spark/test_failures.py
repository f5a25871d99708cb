import pytest

from streamjoin.spark.failures import root_cause

PYTHON = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted \
due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in \
stage 3.0: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
streamjoin.errors.StateError: the checkpoint has 4 shards, the join 2

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""

JAVA = """org.apache.spark.SparkException: Writing job failed.
\tat org.apache.spark.sql.Foo(Foo.scala)
Caused by: java.io.IOException: No space left on device
\tat java.io.File
"""

MISTAKE = """An error occurred while calling o45.load.
: org.apache.spark.SparkException: [DATA_SOURCE_NOT_FOUND] No source: x. SQLSTATE: 42K02
\tat org.apache.spark.sql.Foo(Foo.scala)
Caused by: java.lang.ClassNotFoundException: x.DefaultSource
"""


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (MISTAKE, "[DATA_SOURCE_NOT_FOUND] No source: x."),
        (PYTHON, "the checkpoint has 4 shards, the join 2"),
        (
            JAVA,
            "a disk is full (No space left on device); make room where the checkpoint, the results "
            "and Spark's local folder are, and start again: nothing is lost",
        ),
        ("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03;", None),
        (
            "[A_B.C] No column `x`. SQLSTATE: 42703; line 1 pos 0;\n'Project",
            "[A_B.C] No column `x`.",
        ),
        ("plain", "plain"),
    ],
)
def test_root_cause(message: str, sentence: str | None) -> None:
    found = root_cause(RuntimeError(message))
    assert found == (sentence or "[PATH_NOT_FOUND] Path does not exist: file:/x.")


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        ("/ck/state (Read-only file system)", "/ck/state (Read-only file system)"),
        ("No space left on device", "a disk is full (No space left on device); make room where"),
    ],
)
def test_a_vague_failure_is_told_by_its_cause(cause: str, sentence: str) -> None:
    vague = "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state."
    error = RuntimeError(f"[STREAM_FAILED] Query [id = 1] terminated with exception: {vague}")
    assert root_cause(error) == vague
    stack = f"org.x.Foo: {vague}\n\tat y\nCaused by: java.io.FileNotFoundException: {cause}\n\tat z"
    error._stackTrace = stack  # type: ignore[attr-defined]
    assert root_cause(error).startswith(sentence)


def test_a_foreign_python_error_keeps_its_class() -> None:
    text = "Traceback (most recent call last):\n  File x\nKeyError: 'a'\n\n\tat org.apache.spark.X"
    assert root_cause(RuntimeError(text)) == "KeyError: 'a'"
