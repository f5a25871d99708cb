"""The documents of the project, taken apart: every block of code with what stands around it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scripts.check_docs import ROOT

FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})\s*(\S*)\s*$")
NOTE = re.compile(r"^<!-- (.*) -->$")
NAMES = re.compile(r"^[a-z][a-z0-9_]*$")

Cells = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Block:
    """A block of code.

    Parameters
    ----------
    document, line, language, text
        Where it is and what it holds.
    note
        The comment right above it, such as ``not run: needs a Kafka broker``.
    printed
        The ``output`` block below it: what it prints.
    rows
        The table below it whose head has names of columns: the rows that ``out`` has.
    """

    document: Path
    line: int
    language: str
    text: str
    note: str = ""
    printed: str | None = None
    rows: Cells = ()

    @property
    def place(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"

    @property
    def is_run(self) -> bool:
        return not self.note.startswith("not run: ")


def blocks(document: Path) -> Iterator[Block]:
    """The blocks of a document, each with its output and its table.

    What prints it stands right above an output, with an empty line between; any other is a block
    by itself.
    """
    lines = document.read_text(encoding="utf-8").splitlines()
    found = list(_fenced(document, lines))
    outputs = {block.line: block for block in found if block.language == "output"}
    above = {_end(block) + 2 for block in found}
    for block in found:
        if block.line in outputs and block.line in above:
            continue
        output = outputs.get(_end(block) + 2)
        printed = None if output is None else output.text
        yield replace(block, printed=printed, rows=_table(lines[_end(block) :]))


def _fenced(document: Path, lines: Sequence[str]) -> Iterator[Block]:
    begun: tuple[int, str, str] | None = None
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if begun is None and fence:
            begun = number, fence[2], fence[3]
        elif begun is not None and line.strip() == begun[1]:
            above = NOTE.match(lines[begun[0] - 2]) if begun[0] > 1 else None
            text = "".join(f"{one}\n" for one in lines[begun[0] : number - 1])
            yield Block(document, begun[0], begun[2], text, above[1] if above else "")
            begun = None
    assert begun is None, f"{document}: the block of line {begun and begun[0]} has no end"


def _end(block: Block) -> int:
    """The line after the block, counted from 0."""
    return block.line + block.text.count("\n") + 1


def _table(lines: Sequence[str]) -> Cells:
    """The table right below, if it is one of rows: without its head's rule."""
    if len(lines) < 3 or lines[0].strip() or not lines[1].startswith("|"):
        return ()
    rows = []
    for line in lines[1:]:
        if not line.startswith("|"):
            break
        rows.append(tuple(cell.strip() for cell in line.strip().strip("|").split("|")))
    return (rows[0], *rows[2:]) if all(NAMES.match(cell) for cell in rows[0]) else ()
