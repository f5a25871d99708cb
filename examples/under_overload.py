# %% [markdown]
# # Under overload
#
# Two streams, and for 20 seconds four times as many rows as there is CPU for. What is found if rows
# are dropped at random, and what if every row is kept and the join chooses where to look? On a
# virtual clock and with counted costs, so that it is the same on every machine, and without Spark:
#
#     python examples/under_overload.py

# %%
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import streamjoin as sj
from streamjoin.local import Costs, run
from streamjoin.metrics import JoinCounts

# %% [markdown]
# ## The streams
#
# 500 rows a second of each, and 2,000 from second 30 to 50. Who is talked about changes all the
# time, and trades follow calls by 8 seconds. So a new trade finds most of its partners among calls
# that are about 8 seconds old: somewhere in the middle of the window of 20 seconds.

# %%
PHASES = ((0, 30, 500), (30, 50, 2000), (50, 90, 500))
LAG = 8


def stream(seed: int, lag: float) -> pa.Table:
    rng = np.random.default_rng(seed)
    seconds = np.concatenate([np.arange(a, b, 1 / rate) for a, b, rate in PHASES])
    person = ((seconds - lag) * 400 + rng.normal(0, 400, seconds.size)).astype(np.int64)
    times = pa.array((seconds * 1e6).astype(np.int64), pa.timestamp("us"))
    return pa.table({"person": person, "t": times})


calls, trades = stream(1, 0), stream(2, LAG)

# %% [markdown]
# ## Three joins
#
# The exact one, and two that may use 30 ms of CPU a second. A look at a row costs 1 microsecond, a
# row to be received 0.2: at the usual rate that is enough for everything, in the burst for a part.

# %%
COSTS = Costs(received=0.2, looked_at=1.0, handed_out=0.5)


def steps(**limits) -> list[JoinCounts]:
    settings = {"on": "person", "time": "t", "window": "20 seconds", "costs": COSTS}
    return [step.metrics for step in run(calls, trades, **settings, **limits)]


budget = sj.Budget(cpu="30 ms")
ways = {
    "exact": steps(),
    "selective": steps(budget=budget, shed="selective"),
    "drop": steps(budget=budget, shed="drop"),
}

# %% [markdown]
# ## What was found
#
# Recall is estimated while the join runs, from a sample. Here the truth is known too.

# %%
every = sum(step.pairs for step in ways["exact"])
for way in ("selective", "drop"):
    total = sum((step.without_state() for step in ways[way]), start=JoinCounts())
    low, high = total.recall_interval or (0.0, 1.0)  # None if not known
    print(
        f"{way}: {total.pairs / every:.0%} of the {every:,} pairs were found; "
        f"as estimated between {low:.1%} and {high:.1%}"
    )

# %% [markdown]
# Where did it look? The parts of the calls' and of the trades' window that were probed, second by
# second: the window of the trades is given up first, as a call hardly ever follows a trade.

# %%
for second in (20, 32, 40, 48, 75):
    left, right = ways["selective"][second].fractions
    print(f"second {second}: {left:.0%} of the calls' window, {right:.0%} of the trades' window")

# %% [markdown]
# ## The same as a picture

# %%
from matplotlib.figure import Figure  # noqa: E402  # a cell brings its own

figure = Figure(figsize=(7, 3.4), layout="constrained")
axes = figure.add_subplot()
axes.axvspan(*PHASES[1][:2], alpha=0.12, color="grey", label="four times the rows")
for way, colour in (("selective", "#2f8fd0"), ("drop", "#d1495b")):
    found = [
        step.pairs / exact.pairs if exact.pairs else 1.0
        for step, exact in zip(ways[way], ways["exact"], strict=False)
    ]
    axes.plot(found, color=colour, label=f'shed="{way}"')
axes.set(xlabel="second", ylabel="pairs found of all", ylim=(0, 1.05))
axes.legend(loc="lower right", frameon=False)
picture = Path(sys.argv[1] if len(sys.argv) > 1 else "under_overload.png")
figure.savefig(picture, dpi=130)
print(f"drawn: {picture}")
