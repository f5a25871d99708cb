"""The papers' claims, judged by running them.

Reading order: `base` (claim, experiment, judge, verdict), `measurement` (mean and interval), `run`
(experiments to verdicts), `plots` and `page` (the HTML report), `table` (``docs/papers.md``); then
a folder per paper: ``claims.toml``, `workload`, `experiments`, `judges`, `figures`.

`PAPERS` maps the name on the command line to a module with a `Paper` called ``PAPER``.
"""

PAPERS = {
    "kang": "papers.kang",
    "gedik": "papers.gedik",
    "jaqpot": "papers.jaqpot",
    "valsomatzis": "papers.valsomatzis",
    "naeem": "papers.naeem",
}

__all__ = ["PAPERS"]
