"""Check links, of the documents and of the site that was built from them; and modules they name.

python scripts/check_docs.py [SITE]        SITE is the folder of the site, by default site/
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)
MODULE = re.compile(r"`((?:\w+/)+\w+\.py)`")
PLACES = (ROOT, ROOT / "src" / "streamjoin")
"""Where a module that a document names may be."""
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
STYLE_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""What a browser fetches by itself; a link is only followed if somebody wants to."""


def documents() -> list[Path]:
    """Every document of the project; none can be added that is not looked at."""
    folders = ("docs", "benchmarks", "examples")
    found = [*ROOT.glob("*.md"), *(file for one in folders for file in (ROOT / one).rglob("*.md"))]
    return sorted(found)


def problems_of_document(document: Path) -> Iterator[str]:
    """Links that lead nowhere, as the repository's host would follow them; modules likewise."""
    text = CODE.sub("", document.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (document.parent / path).resolve() if path else document
        if not file.exists():
            yield f"link to {target} leads nowhere"
        elif anchor and file.suffix == ".md" and anchor not in headings(file):
            yield f"link to {target}: there is no such heading"
    if document.name != "CHANGELOG.md":  # which tells of what was
        for module in MODULE.findall(text):
            if not any((place / module).exists() for place in PLACES):
                yield f"there is no module {module}"


@cache
def headings(document: Path) -> frozenset[str]:
    """Anchors of a document's headings, as GitHub makes them."""
    text = CODE.sub("", document.read_text(encoding="utf-8"))
    found: list[str] = []
    for heading in HEADING.findall(text):
        plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        n = sum(re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", one) is not None for one in found)
        found.append(f"{anchor}-{n}" if n else anchor)
    return frozenset(found)


class Page(HTMLParser):
    """What a page links to, what it fetches, and which places it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to."""
        said = {name: value or "" for name, value in attrs}
        self.places |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        if said.get("rel") not in ("canonical", "prev", "next") and FETCHED.get(tag) in said:
            self.fetched.append(said[FETCHED[tag]])


def problems_of_site(site: Path) -> Iterator[str]:
    """Links of built pages that lead nowhere, and what would be fetched from elsewhere."""
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    if not pages:
        yield f"{site}: there are no pages; build them with mkdocs build"
    for file, page in pages.items():
        name = file.relative_to(site)
        for target in (*page.links, *page.fetched):
            yield from (f"{name}: {what}" for what in _problems(target, file, site, pages))
        for target in page.fetched:
            if urlsplit(target).netloc:
                yield f"{name}: {target} is fetched from elsewhere"
    for file in site.rglob("*.css"):
        for found in STYLE_URL.findall(file.read_text(encoding="utf-8")):
            if urlsplit("".join(found)).netloc:
                yield f"{file.relative_to(site)}: {''.join(found)} is fetched from elsewhere"


def _problems(target: str, file: Path, site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return
    to = file if not parts.path else (file.parent / unquote(parts.path)).resolve()
    if to.is_dir():
        to = to / "index.html"
    if not to.exists():
        # The page for what is not found is served at any depth, so its links begin at the root.
        if file.name != "404.html" or not (site / parts.path.lstrip("/")).exists():
            yield f"link to {target} leads nowhere"
    elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].places:
        yield f"link to {target}: there is no such place"


def main(site: Path) -> int:
    found = [f"{d.relative_to(ROOT)}: {p}" for d in documents() for p in problems_of_document(d)]
    found += problems_of_site(site.resolve())
    for line in found:
        print(line)
    pages = len(list(site.rglob("*.html")))
    print(f"{len(documents())} documents, {pages} pages, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"))
