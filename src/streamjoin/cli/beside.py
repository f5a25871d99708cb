"""Commands that come with the project's repository, not with the package: found by entry point."""

from contextlib import suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any

from streamjoin.errors import ConfigError

GROUP = "streamjoin.commands"


def command_beside(name: str) -> Any:
    """The function behind a command whose code lies beside the package, in the repository.

    An installed package names these entry points too, but does not have what they point to.
    """
    with suppress(StopIteration):
        entry = next(iter(entry_points(group=GROUP, name=name)))
        if find_spec(entry.module.partition(".")[0]) is not None:
            return entry.load()
    msg = (
        f"{name}: not part of the installed package; allowed: in a clone of streamjoin's "
        f"repository, after `make install`, as `.venv/bin/streamjoin {name}`"
    )
    raise ConfigError(msg)
