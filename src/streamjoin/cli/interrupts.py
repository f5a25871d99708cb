"""Ctrl-C and SIGTERM: the first asks to stop, the second interrupts."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

INTERRUPTED: Final = 130
"""The exit code of a program that SIGINT ended."""
NUMBERS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals() -> Iterator[list[int]]:
    """Collect signals instead of dying of them; a second one does interrupt."""
    caught: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    before = {number: signal.signal(number, note) for number in NUMBERS}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ignored() -> Iterator[None]:
    """Hear no signal while something is tidied up that takes a moment."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
