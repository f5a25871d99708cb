"""One document at work: its blocks run one after the other, in one folder, with shared names."""

import ast
import doctest
import inspect
import io
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from mkdocs.utils.yaml import yaml_load
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj
from streamjoin.cli.sql_file import load_sql
from streamjoin.cli.table_file import load_toml
from streamjoin.spark.recording import Recording
from tests.system.docs.commands import check_command
from tests.system.docs.documents import Block, Cells

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PIPELINE: Mapping[str, Mapping[str, Any]] = {
    "sources": {name: {"type": "generator", "seconds": 9} for name in ("calls", "trades")},
    "join": {"on": "person", "time": "called_at", "window": "1 minute"},
    "sink": {"type": "noop"},
}
"""A file that a part of one is put into, to see whether its keys and values are allowed."""


@dataclass
class Page:
    """What a document's blocks share.

    Parameters
    ----------
    spark, folder
        The session, and where files are.
    streams
        DataFrames that documents take for granted.
    postgresql
        Runs statements in a database; None where there is none.
    """

    spark: SparkSession
    folder: Path
    streams: Mapping[str, DataFrame]
    postgresql: Callable[[str], None] | None
    names: dict[str, Any] = field(default_factory=dict)
    shown: list[tuple[str, DataFrame, Cells]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names |= {"spark": self.spark, "__name__": "__page__", **self.streams}

    def run(self, block: Block) -> None:
        """Do with a block what its language asks for."""
        known: dict[str, Callable[[Block], object]] = {
            "python": self._python,
            "toml": self._toml,
            "sql": self._sql,
            "postgresql": self._postgresql,
            "sh": self._shell,
            "json": lambda one: json.loads(one.text),
            "yaml": lambda one: yaml_load(one.text),
            "text": lambda one: None,
        }
        languages = f"{', '.join(known)}, and output right below python"
        assert block.language in known, f"{block.place}: {block.language!r}; allowed: {languages}"
        printed = block.language == "python" or block.printed is None
        assert printed, f"{block.place}: its output is not compared; call that text"
        known[block.language](block)

    def end(self) -> None:
        """Stop what its blocks have begun."""
        for query in self.spark.streams.active:
            query.stop()
        for begun in self.names.values():
            if isinstance(begun, Recording):
                begun.stop()

    def check_rows(self) -> None:
        """Compare all tables of rows with what came out, by one Spark job: each costs a second."""
        if not self.shown:
            return
        frames = [_written(place, frame, table[0]) for place, frame, table in self.shown]
        found = [(row.place, *row.cells) for row in reduce(DataFrame.unionAll, frames).collect()]
        assert sorted(found) == sorted((p, *row) for p, _, table in self.shown for row in table[1:])

    def _python(self, block: Block) -> None:
        # Lines are numbered as in the document, so that a failure names its place.
        source = "\n" * block.line + block.text
        tree = ast.parse(source, str(block.document))
        check_calls(tree, block.place)
        if not block.is_run or (self.postgresql is None and "SHOP" in block.text):
            return
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(tree, str(block.document), "exec"), self.names)
            for one in tree.body:  # a test is there to be called
                if isinstance(one, ast.FunctionDef) and one.name.startswith("test_"):
                    self.names[one.name]()
        if block.printed is not None:
            same = doctest.OutputChecker().check_output(block.printed, printed.getvalue(), FLAGS)
            assert same, f"{block.place} prints\n{printed.getvalue()}"
        if block.rows:
            self.shown.append((block.place, self.names["out"], block.rows))

    def _toml(self, block: Block) -> None:
        file = self.folder / f"block_{block.line}.toml"
        if "[sink]" in block.text:
            file.write_text(block.text, encoding="utf-8")
            if block.is_run and not (self.postgresql is None and "SHOP" in block.text):
                assert str(sj.explain(file))
                return
        else:
            file.write_text(_completed(block.text), encoding="utf-8")
        load_toml(file)

    def _sql(self, block: Block) -> None:
        if "CREATE STREAM" in block.text:
            file = self.folder / f"block_{block.line}.sql"
            file.write_text(block.text, encoding="utf-8")
            load_sql(file)
        else:
            assert sj.sql(block.text, dict(self.streams)).columns

    def _shell(self, block: Block) -> None:
        for line in block.text.replace("\\\n", " ").splitlines():
            check_command(line)

    def _postgresql(self, block: Block) -> None:
        if self.postgresql is not None:
            self.postgresql(block.text)


def check_calls(tree: ast.AST, place: str) -> None:
    """Refuse calls ``sj.name(...)`` of a name that is not there, or with arguments it has not."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        called = node.func
        if not (isinstance(called.value, ast.Name) and called.value.id == "sj"):
            continue
        assert hasattr(sj, called.attr), f"{place}: sj.{called.attr}"
        positional = [one for one in node.args if not isinstance(one, ast.Starred)]
        named = {one.arg: None for one in node.keywords if one.arg}
        inspect.signature(getattr(sj, called.attr)).bind_partial(*positional, **named)


def _written(place: str, frame: DataFrame, names: tuple[str, ...]) -> DataFrame:
    """Rows as a document writes them, all in one column."""
    texts = [F.coalesce(F.col(name).cast("string"), F.lit("null")) for name in names]
    return frame.select(F.lit(place).alias("place"), F.array(*texts).alias("cells"))


def _completed(part: str) -> str:
    """A part of a pipeline file within a whole one."""
    document = dict(PIPELINE)
    for name, table in tomllib.loads(part).items():
        document[name] = {**document.get(name, {}), **table}
    return "\n".join(_toml_lines("", document))


def _toml_lines(prefix: str, table: Mapping[str, Any]) -> list[str]:
    """TOML with one line a value, which is enough for a file that nobody reads."""
    lines = []
    for name, value in table.items():
        key = f"{prefix}{json.dumps(name)}"
        if isinstance(value, Mapping):
            lines += _toml_lines(f"{key}.", value)
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    return lines
