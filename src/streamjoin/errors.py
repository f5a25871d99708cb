"""What can go wrong, one class per kind of cause.

Every error of this library is a `StreamJoinError`, so one ``except`` catches them all. Each message
is one sentence that names the argument, what came and what is allowed.

Examples
--------
>>> try:
...     raise ConfigError.at("window", "-1 s", "a positive duration")
... except StreamJoinError as error:
...     print(error)
window: got -1 s; allowed: a positive duration
"""

from typing import TypeVar

_Error = TypeVar("_Error", bound="StreamJoinError")


class StreamJoinError(Exception):
    """Base of every error that streamjoin raises on purpose."""

    @classmethod
    def at(cls: type[_Error], argument: object, got: object, allowed: object) -> _Error:
        """An argument, what came for it and what is allowed, as a sentence.

        Examples
        --------
        >>> print(ConfigError.at("window", "-1 s", "a positive duration"))
        window: got -1 s; allowed: a positive duration
        """
        return cls(f"{argument}: got {got}; allowed: {allowed}")


class ConfigError(StreamJoinError, ValueError):
    """An argument or a setting has a value that is not allowed."""


class DataError(StreamJoinError, ValueError):
    """The data does not fit what was asked: a missing column, a wrong type, a duplicate name."""


class StateError(StreamJoinError):
    """A checkpoint was written by another join, schema or version."""


class TableError(StreamJoinError, RuntimeError):
    """A table cannot be read: its database does not answer, or one of its files is damaged."""


class EngineError(StreamJoinError, RuntimeError):
    """Spark, or what Spark needs, failed or is missing."""


class MissingExtraError(StreamJoinError, ImportError):
    """A feature needs packages that are not installed.

    Examples
    --------
    >>> print(MissingExtraError.of("cli", "rich"))
    rich is not installed; install it with: pip install "streamjoin[cli]"
    """

    @classmethod
    def of(cls, extra: str, module: str) -> "MissingExtraError":
        """Say which extra brings the missing module."""
        return cls(f'{module} is not installed; install it with: pip install "streamjoin[{extra}]"')
