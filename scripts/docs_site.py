"""What the site has besides docs/: the examples, the benchmarks' pages, contributing and changes.

A hook of MkDocs. Links between documents are written as the repository has them, so that they work
where the files are; here they are turned to where the site has the pages.
"""

import posixpath
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLES: Final = "examples.md"
PAGES: Final = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
    "benchmarks/README.md": "benchmarks/index.md",
    "benchmarks/RESULTS.md": "benchmarks/results.md",
}
"""Documents of the repository, and where the site has them."""
WIDE: Final = ("papers.md", "benchmarks/results.md")
"""Pages of wide tables, which need the room of the table of contents."""
LINK: Final = re.compile(r"(\]\()([^)\s]+)(\))")
LANGUAGES: Final = {".py": "python", ".toml": "toml", ".sql": "sql"}
CELL: Final = re.compile(r"^# %%(.*)\n", re.MULTILINE)
_HEAD: Final = """\
# Examples

Each runs as it is, in a clone. Scripts with cells are for Python and for notebooks: `python
examples/NAME.py`. Pipeline files and SQL files need no Python: `streamjoin run examples/NAME.toml`;
`streamjoin explain examples/NAME.toml` says what one will do before it does.

"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, place in PAGES.items():
        if files.get_file_from_path(place) is None:
            text = (ROOT / source).read_text(encoding="utf-8")
            files.append(File.generated(config, place, content=text))
    files.append(File.generated(config, EXAMPLES, content=_examples()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    site = page.file.src_uri
    if site in WIDE:
        page.meta["hide"] = ["toc"]
    of = next((path for path, place in PAGES.items() if place == site), f"docs/{site}")
    if site == PAGES["README.md"]:
        of = "docs/index.md"
    return LINK.sub(lambda m: f"{m[1]}{_turned(m[2], of, site)}{m[3]}", markdown)


def _turned(target: str, of: str, site: str) -> str:
    """A link of a document as the site needs it."""
    path, mark, anchor = target.partition("#")
    if not path or "://" in target or target.startswith("mailto:"):
        return target
    repository = posixpath.normpath(posixpath.join(posixpath.dirname(of), path))
    if repository.startswith("examples/"):
        place, mark, anchor = EXAMPLES, "#", _anchor(repository)
    elif repository in PAGES:
        place = PAGES[repository]
    elif repository.startswith("docs/"):
        place = repository.removeprefix("docs/")
    else:
        return target  # MkDocs says that it leads nowhere
    return posixpath.relpath(place, posixpath.dirname(site) or ".") + mark + anchor


def _examples() -> str:
    parts = [_HEAD]
    for suffix, language in LANGUAGES.items():
        for file in sorted((ROOT / "examples").glob(f"*{suffix}")):
            text = file.read_text(encoding="utf-8")
            parts.append(f"## {file.name} {{ #{_anchor(file.name)} }}\n")
            parts.append(_cells(text) if suffix == ".py" else _fenced(language, text))
    return "\n".join(parts)


def _cells(text: str) -> str:
    """A script's cells, as a notebook shows them: prose, and code between."""
    _, *cells = CELL.split(text)
    shown = []
    for kind, cell in zip(cells[::2], cells[1::2], strict=True):
        if "markdown" in kind:
            prose = re.sub(r"^# ?", "", cell.strip(), flags=re.MULTILINE)
            shown.append(re.sub(r"^(#+ )", r"##\1", prose, flags=re.MULTILINE) + "\n")
        else:
            shown.append(_fenced("python", cell))
    return "\n".join(shown)


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.strip()}\n```\n"


def _anchor(path: str) -> str:
    return posixpath.basename(path).replace(".", "_")
