"""Draw the figures of the pages about the papers: docs/figures, by running what they show.

python scripts/draw_figures.py [NAME ...]        all of them take some minutes
"""

import re
import sys
from pathlib import Path
from typing import Final, NamedTuple

from papers.base import Context
from papers.plots import svg
from papers.run import FULL_SEEDS, find_paper
from papers.sessions import LazySpark

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "figures"
# An image does not take the colour of the page around it, so it brings both.
STYLE: Final = (
    "<style>svg{color:#24292f}@media (prefers-color-scheme:dark){svg{color:#d7dce2}}</style>"
)


class Drawing(NamedTuple):
    """A figure of the report: its paper, its name there, and the experiments it is made from."""

    paper: str
    figure: str
    experiments: tuple[str, ...]


DRAWINGS: Final = {
    "memory_splits": Drawing("kang", "Figure 9", ("figure 9",)),
    "policies_over_time": Drawing("gedik", "Figure 7", ("figure 7",)),
    "against_random_drop": Drawing("gedik", "Overload", ("overload",)),
    "results_by_resources": Drawing("jaqpot", "Figure 7", ("figure 7",)),
    "drivers": Drawing("valsomatzis", "Figure 6", ("policies",)),
    "caching_by_skew": Drawing("naeem", "Figure 5(d)", ("figure 5d",)),
}


def draw(drawing: Drawing, context: Context) -> str:
    paper = find_paper(drawing.paper)
    runs = {one.name: one.run for one in paper.experiments}
    numbers = {name: runs[name](context) for name in drawing.experiments}
    figure = next(one for one in paper.figures if one.name == drawing.figure)
    return standing_alone(svg(figure, numbers))


def standing_alone(element: str) -> str:
    """Make a file of an element that was made to stand within a page."""
    text = element.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    text = re.sub(r"(<svg[^>]*>)", rf"\1{STYLE}", text, count=1)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).strip() + "\n"


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    spark = LazySpark()
    context = Context(quick=False, seeds=FULL_SEEDS, spark=spark)
    try:
        for name in names or DRAWINGS:
            file = FOLDER / f"{name}.svg"
            file.write_text(draw(DRAWINGS[name], context), encoding="utf-8")
            print(f"{file}: {file.stat().st_size:,} bytes", flush=True)
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
