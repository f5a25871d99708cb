# %% [markdown]
# # Fresh results
#
# Orders, payments and parcels of one shop, joined by the order's number. A result is old news if
# the order is more than 12 minutes old when it comes out: such results are withheld, and counted.
#
#     python examples/fresh_results.py

# %%
import datetime as dt
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import streamjoin as sj

folder = Path(tempfile.mkdtemp(prefix="fresh_results_"))
spark = SparkSession.builder.master("local[2]").getOrCreate()

# %% [markdown]
# ## Three streams
#
# Order n comes in minute n, its payment 2 minutes later and its parcel 4 minutes later. A batch is
# 5 minutes of all three. But the last batch is a long one: the query was stopped, and 30 minutes
# have come meanwhile.

# %%
NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone.utc)
DELAYS = {"orders": 0, "payments": 2, "parcels": 4}
BATCHES = [(0, 5), (5, 10), (10, 15), (15, 45)]

for name, delay in DELAYS.items():
    (folder / name).mkdir()
    for number, (first, last) in enumerate(BATCHES):
        minutes = range(first, last)
        rows = [m - delay for m in minutes if m >= delay]
        times = [NOON + dt.timedelta(minutes=m) for m in minutes if m >= delay]
        table = pa.table(
            {"number": pa.array(rows, pa.int64()), "ts": pa.array(times, pa.timestamp("us", "UTC"))}
        )
        file = folder / name / f"{number}.parquet"
        pq.write_table(table, file)
        os.utime(file, (number, number))  # Spark takes the oldest file first


def stream(name: str):
    reader = spark.readStream.schema("number long, ts timestamp")
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder / name))


# %% [markdown]
# ## The join
#
# All three within 10 minutes of each other. `freshness` is by the newest time that any stream has
# shown. It says nothing about how the result is found: by a tree of two-way joins or by one n-ary
# join, whichever is cheaper.

# %%
joined = sj.multi_join(
    {name: stream(name) for name in DELAYS},
    on="number",
    time="ts",
    window="10 minutes",
    freshness={"orders": "12 minutes"},
    shards=1,
)
print(sj.explain(joined))

# %% [markdown]
# ## What came, and what was withheld

# %%
query = (
    joined.writeStream.format("parquet")
    .option("checkpointLocation", str(folder / "checkpoint"))
    .queryName("fresh results")
    .trigger(availableNow=True)
    .start(str(folder / "joined"))
)
query.processAllAvailable()
for progress in query.recentProgress:
    counters = progress["observedMetrics"]["streamjoin"]["counters"]
    if counters["results"] is not None:
        print(
            f"batch {progress['batchId']}: {counters['results']} results, "
            f"{counters['stale']} of them withheld"
        )
print(sj.status(query))
query.stop()

# %% [markdown]
# In a live batch nothing is withheld: the order is 4 to 9 minutes old. In the long one only the
# last orders are fresh enough when it ends. Shorter batches (`maxFilesPerTrigger`) would have let
# more through.

# %%
numbers = [row.number for row in spark.read.parquet(str(folder / "joined")).collect()]
print(f"orders that came out: {sorted(numbers)}")
