"""Examples of docstrings as a reader would write them: what a test runner brings is left out.

An extension of Griffe, which reads the docstrings for the site.
"""

import re
from typing import Any, Final

import griffe

BROUGHT: Final = re.compile(r'^ *>>> \w+ = getfixture\("spark"\).*\n', re.MULTILINE)
WRITTEN: Final = {'getfixture("spark")': "spark", 'getfixture("tmp_path")': 'Path("folder")'}


class Readable(griffe.Extension):
    """Shows the session as ``spark``, and a folder for tests as any folder."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite a docstring once it has been read."""
        if obj.docstring is None:
            return
        text = BROUGHT.sub("", obj.docstring.value)
        for fixture, written in WRITTEN.items():
            text = text.replace(fixture, written)
        obj.docstring.value = text
