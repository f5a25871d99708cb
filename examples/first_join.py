# %% [markdown]
# # A first join
#
# Who was called, and traded shortly afterwards? Two streams, one join: what it will do, what it
# found, and what it counted. Run it as a script, or cell by cell in a notebook:
#
#     python examples/first_join.py

# %%
import datetime as dt
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import streamjoin as sj

folder = Path(tempfile.mkdtemp(prefix="first_join_"))
spark = SparkSession.builder.master("local[2]").getOrCreate()

# %% [markdown]
# ## Two streams
#
# A folder of Parquet files is a stream: Spark takes the files that are there, and those that come
# later. Each file here is a minute, 300 calls and 200 trades among 500 people. Some rows are a few
# seconds late.

# %%
NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone.utc)
rng = np.random.default_rng(7)


def minute(number: int, rows: int, time: str) -> pa.Table:
    seconds = 60 * number + np.sort(rng.uniform(0, 60, rows)) - rng.exponential(1, rows)
    us = int(NOON.timestamp() * 1e6) + (seconds * 1e6).astype(np.int64)
    times = pa.array(us, pa.timestamp("us", "UTC"))
    return pa.table({"person": rng.integers(0, 500, rows), time: times})


for name, rows, time in (("calls", 300, "called_at"), ("trades", 200, "traded_at")):
    (folder / name).mkdir()
    for number in range(4):
        file = folder / name / f"{number}.parquet"
        pq.write_table(minute(number, rows, time), file)
        os.utime(file, (number, number))  # Spark takes the oldest file first


def stream(name: str, time: str):
    reader = spark.readStream.schema(f"person long, {time} timestamp")
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder / name))


calls, trades = stream("calls", "called_at"), stream("trades", "traded_at")

# %% [markdown]
# ## The join
#
# A call is remembered for a minute and a trade not at all, so a pair is a trade up to a minute
# after a call. Rows may be 10 seconds behind the newest of their stream.

# %%
joined = sj.join(
    calls,
    trades,
    on="person",
    time=("called_at", "traded_at"),
    window=("1 minute", None),
    lateness="10 seconds",
)

# %% [markdown]
# What will it do? Nothing has started yet.

# %%
print(sj.explain(joined, rates=(5, 3.3)))

# %% [markdown]
# ## Run it
#
# Results go to Parquet files. The checkpoint remembers how far the query came: run the cell again
# and it only takes new files.

# %%
query = (
    joined.writeStream.format("parquet")
    .option("checkpointLocation", str(folder / "checkpoint"))
    .queryName("first join")
    .trigger(availableNow=True)
    .start(str(folder / "joined"))
)
query.processAllAvailable()
print(sj.status(query))
query.stop()

# %% [markdown]
# ## Is it right?
#
# The same join in plain Python, over all rows at once, must find the same pairs.

# %%
found = spark.read.parquet(str(folder / "joined"))
found.show(5, truncate=False)
pairs = sj.oracle.window_join(
    pq.read_table(folder / "calls").to_pylist(),
    pq.read_table(folder / "trades").to_pylist(),
    on=[("person", "person")],
    time=("called_at", "traded_at"),
    window=(dt.timedelta(minutes=1), dt.timedelta(0)),
)
print(f"{found.count()} pairs by the stream, {len(pairs)} in plain Python")
