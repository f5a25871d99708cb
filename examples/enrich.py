# %% [markdown]
# # Enrich a stream from a table
#
# Each order gets its customer's name. The table is in Parquet files and stays there; the join keeps
# the customers that order often in memory, looks up the others, and notices when files are added.
#
#     python examples/enrich.py

# %%
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import streamjoin as sj

folder = Path(tempfile.mkdtemp(prefix="enrich_"))
spark = SparkSession.builder.master("local[2]").getOrCreate()
rng = np.random.default_rng(3)

# %% [markdown]
# ## A table and a stream
#
# 20,000 customers in small row groups, since a row group is the least that can be read of a Parquet
# file. 6,000 orders, of which few customers have most.

# %%
(folder / "customers").mkdir()
(folder / "orders").mkdir()


def add_customers(first: int, last: int) -> None:
    ids = np.arange(first, last)
    table = pa.table({"id": ids, "name": [f"customer {i}" for i in ids], "city": ids % 40})
    pq.write_table(table, folder / "customers" / f"from_{first}.parquet", row_group_size=2000)


def add_orders(file: str, customers: np.ndarray) -> None:
    table = pa.table({"number": np.arange(customers.size), "customer": customers})
    pq.write_table(table, folder / "orders" / f"{file}.parquet")


add_customers(0, 20_000)
for number in range(3):
    add_orders(f"day_{number}", (rng.zipf(1.3, 2000) - 1) % 20_000)

# %% [markdown]
# ## The join
#
# A left join: orders of customers who are not in the table come out too. 16 MB are for the cache
# and for what is being read, of all shards together. The table is looked at in every batch.

# %%
orders = spark.readStream.schema("number long, customer long").option("maxFilesPerTrigger", 1)
enriched = sj.table_join(
    orders.parquet(str(folder / "orders")),
    sj.parquet_table(str(folder / "customers"), key="id", unique=True),
    on="customer",
    how="left",
    columns=["name"],
    budget=sj.Budget(memory="16 MB"),
    refresh="0 seconds",
    index_folder=str(folder / "index"),
)
print(sj.explain(enriched))


def run() -> None:
    query = (
        enriched.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .queryName("enrich")
        .trigger(availableNow=True)
        .start(str(folder / "enriched"))
    )
    query.processAllAvailable()
    for progress in query.recentProgress:
        counters = progress["observedMetrics"]["streamjoin"]["counters"]
        if counters["rows"]:
            print(
                f"batch {progress['batchId']}: {counters['rows']:,} orders, "
                f"{counters['hits'] / counters['rows']:.0%} answered by the cache, "
                f"{counters['looked_up']:,} looked up, {counters['loads']} parts loaded"
            )
    query.stop()


# %% [markdown]
# The first batch finds the cache empty; later ones find most of their customers in it.

# %%
run()

# %% [markdown]
# ## The table grows
#
# 1,000 new customers come in a file of their own, and then their first orders. The query goes on
# from its checkpoint, with the cache as it was, and finds them.

# %%
add_customers(20_000, 21_000)
add_orders("day_3", np.arange(19_990, 20_020))
run()
found = spark.read.parquet(str(folder / "enriched"))
new = found.filter("customer >= 20000")
nameless = new.filter("name IS NULL").count()
print(f"{found.count():,} orders, {new.count()} of new customers, {nameless} without a name")
