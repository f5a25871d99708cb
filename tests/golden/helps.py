"""Help pages of the command line, plain: colours and frames are those of Typer and Rich."""

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from streamjoin.cli.app import app

WIDTH = 100


def help_pages() -> dict[str, str]:
    """The page of the program and of every command, by golden file."""
    return {f"help/{'_'.join(words)}.txt": page for words, page in _pages(get_command(app))}


def _pages(
    command: Any, words: tuple[str, ...] = ("streamjoin",), parent: Any = None
) -> Iterator[tuple[tuple[str, ...], str]]:
    command.rich_markup_mode = None
    context = command.context_class(
        command, info_name=words[-1], parent=parent, terminal_width=WIDTH
    )
    lines = (line.rstrip() for line in command.get_help(context).splitlines())
    yield words, "\n".join(lines) + "\n"
    for name, below in getattr(command, "commands", {}).items():
        yield from _pages(below, (*words, name), context)
