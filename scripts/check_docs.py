"""Check the documents: relative links lead somewhere, Python blocks compile."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def documents() -> list[Path]:
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]
    return sorted(found)


def problems(document: Path) -> Iterator[str]:
    text = document.read_text(encoding="utf-8")
    for target in LINK.findall(text):
        path = target.partition("#")[0]
        if path and "://" not in target and not (document.parent / path).exists():
            yield f"link to {target} leads nowhere"
    for block in PYTHON.finditer(text):
        line = text[: block.start()].count("\n") + 1
        try:
            compile(block[1], str(document), "exec")
        except SyntaxError as error:
            yield f"Python block at line {line} does not compile: {error.msg}"


def main() -> int:
    found = [f"{d.relative_to(ROOT)}: {p}" for d in documents() for p in problems(d)]
    for line in found:
        print(line)
    print(f"{len(documents())} documents, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
