"""Results into a table of PostgreSQL, each once, whatever is run again."""

from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import types as t

from streamjoin._names import ANY_CASE, Naming
from streamjoin.errors import ConfigError, DataError, StateError, TableError
from streamjoin.joins.columns import refuse_duplicates
from streamjoin.spark.columns import PAIR_ID, as_json, named, naming_of, with_pair_id
from streamjoin.spark.requirements import is_connect
from streamjoin.spark.sinks.tables import PART, Parts, Staging, Target, ask, connected, whole
from streamjoin.tables.database import Address, Database, quoted

_QUERY: Final = "sql.streaming.queryId"
_ROUNDS: Final = 3
"""How often a batch is computed, if the server loses what it was given."""
_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', true) "
    "WHERE current_setting('synchronous_commit') <> 'remote_apply'"
)
"""Where commits are not waited for, a crash would lose a batch that Spark does not run again."""

_TYPES: Final[dict[type[t.DataType], str]] = {
    t.BooleanType: "boolean",
    t.ByteType: "smallint",
    t.ShortType: "smallint",
    t.IntegerType: "integer",
    t.LongType: "bigint",
    t.FloatType: "real",
    t.DoubleType: "double precision",
    t.StringType: "text",
    t.BinaryType: "bytea",
    t.DateType: "date",
    t.TimestampType: "timestamp with time zone",
    t.TimestampNTZType: "timestamp without time zone",
    t.ArrayType: "jsonb",
    t.MapType: "jsonb",
    t.StructType: "jsonb",
}


@dataclass(frozen=True)
class PostgresSink:
    """A function for ``foreachBatch``; made by `postgres_sink`. Its text has no password."""

    address: Address
    table: str
    pair_id: str | bool

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write a batch, unless it is there."""
        query = _query(frame)
        rows, key = self._named(frame)
        types = sql_types(rows.schema, naming_of(frame.sparkSession))
        database = connected(self.address, self.table)
        try:
            database.table = _with_schema(database)
            target = Target(database.table, types, key, query)
            _prepare(database, target, batch)
            _write(database, target, storable(rows), batch)
        finally:
            database.close()

    def _named(self, frame: DataFrame) -> tuple[DataFrame, str | None]:
        """The rows with their ids, and the name of that column."""
        if self.pair_id is False:
            return frame, None
        if isinstance(self.pair_id, str) and self.pair_id in frame.columns:
            return frame, self.pair_id
        name = PAIR_ID if self.pair_id is True else self.pair_id
        if naming_of(frame.sparkSession).find(frame.columns, name) is not None:
            raise ConfigError(
                f"pair_id: the frame has a column {name!r} of its own; allowed: its exact name, if "
                "its values name results, or another name"
            )
        return with_pair_id(frame, name), name


def postgres_sink(uri: str, table: str, pair_id: str | bool = True) -> PostgresSink:
    """A function for ``foreachBatch`` that writes results into a table of PostgreSQL, each once.

    Tasks copy their rows into a table of the batch, side by side. Then one transaction moves them
    into the table and writes into ``streamjoin_batches``, beside it, which batch that was. So a
    batch is in the table as a whole or not at all, and one that Spark runs again changes nothing.
    The table is made if it is not there. A server that does not answer is waited for, half a
    minute. Call it once for a batch and a table. It needs a classic session, not Spark Connect.

    Parameters
    ----------
    uri
        ``"postgresql://user:password@host:port/database"``. Passwords may also come from where
        PostgreSQL's own programs take them. The user needs to be allowed to create tables.
    table
        Its name; the name of its schema may be in front, with a dot.
    pair_id
        Whether a column ``pair_id`` is added as `with_pair_id` does, by which a result replaces the
        one of the same id; or the name of that column, which is taken as it is if the frame has it.
        False to append rows as they are.

    Examples
    --------
    >>> postgres_sink("postgresql://writer:secret@db/shop", "public.pairs")
    PostgresSink(address=Address('postgresql://writer@db/shop'), table='public.pairs', pair_id=True)
    """
    if not isinstance(uri, str) or not uri.lower().startswith(("postgresql://", "postgres://")):
        # Without that beginning it is not known which part of it is a password.
        raise ConfigError.at("uri", "no address of PostgreSQL", "'postgresql://user@host/database'")
    if not isinstance(table, str) or not all(table.split(".")) or table.count(".") > 1:
        raise ConfigError.at("table", repr(table), "a name such as 'pairs' or 'public.pairs'")
    if not isinstance(pair_id, str | bool) or pair_id == "":
        raise ConfigError.at("pair_id", repr(pair_id), "True, False or the name of a column")
    sink = PostgresSink(Address(uri), table, pair_id)
    connected(sink.address, table).close()  # without its driver nothing could be written
    return sink


def _query(frame: DataFrame) -> str:
    if is_connect(frame):
        raise ConfigError.at(
            "postgres_sink", "a frame of Spark Connect", "one of a classic session"
        )
    query = frame.sparkSession.sparkContext.getLocalProperty(_QUERY)
    if query is None:
        raise ConfigError.at(
            "postgres_sink", "a frame of no streaming query", "writeStream.foreachBatch"
        )
    return query


def _with_schema(database: Database) -> str:
    """The table's name with its schema: however it is called, it is one table."""
    if "." in database.table:
        return database.table
    schema = database.query("SELECT current_schema()::text AS name").to_pylist()[0]["name"]
    if schema is None:
        raise ConfigError.at(
            "table",
            f"{database.table!r}, and the user has no schema for it",
            "a name with its schema, such as 'public.pairs'",
        )
    return f"{schema}.{database.table}"


def _prepare(database: Database, target: Target, batch: int) -> None:
    """Make what is missing, and refuse what does not fit."""

    def make(cursor: Any) -> None:
        target.lock(cursor)
        target.create(cursor)
        target.check_order(cursor, batch)

    whole(database, make)
    target.check(database)


def _write(database: Database, target: Target, rows: DataFrame, batch: int) -> None:
    if any(_is_written(database, target, rows, batch) for _ in range(_ROUNDS)):
        return
    raise TableError(
        f"the table {target.table!r} in {database.address.safe} cannot be written: the server lost "
        f"what it was given, {_ROUNDS} times; see why it crashes, then start the query again"
    )


def _is_written(database: Database, target: Target, rows: DataFrame, batch: int) -> bool:
    staging = Staging.of(database, target.query, batch)
    staging.remove_all(database, target.query)
    whole(database, lambda cursor: staging.create(cursor, target.types))
    # Even of a batch that is there, as that is how joins come to the state after it.
    parts = staging.fill(rows)
    try:
        done = whole(database, lambda cursor: _commit(cursor, target, staging, parts, batch))
    except (DataError, StateError):  # and not if the server is away
        staging.remove(database)
        raise
    staging.remove(database)
    return done


def _commit(cursor: Any, target: Target, staging: Staging, parts: Parts, batch: int) -> bool:
    """Move a batch into its table; False if the server no longer has all of it."""
    ask(cursor, _DURABLE)
    target.lock(cursor)
    if target.has(cursor, batch, parts):
        return True
    named = "*" if target.pair_id is None else quoted(target.pair_id)
    sql = f"SELECT count(*), count({named}) FROM {staging.rows(parts)}"
    ((found, with_id),) = ask(cursor, sql)
    if found != parts.n_rows:
        return False
    if with_id != found:
        raise DataError(
            f"pair_id: column {target.pair_id!r} is null in {found - with_id:,} rows of batch "
            f"{batch}; allowed: a value in each"
        )
    target.take(cursor, staging, parts, batch)
    return True


def sql_types(schema: t.StructType, naming: Naming = ANY_CASE) -> dict[str, str]:
    """PostgreSQL's type for each column.

    Raises
    ------
    DataError
        If there is none for it, or its name cannot be had.

    Examples
    --------
    >>> sql_types(t._parse_datatype_string("k LONG, price DECIMAL(9,2), words ARRAY<STRING>"))
    {'k': 'bigint', 'price': 'numeric(9,2)', 'words': 'jsonb'}
    """
    refuse_duplicates(schema.names, "frame", naming)
    for name in schema.names:
        if naming.same(name, PART):
            raise DataError.at(
                "frame", f"a column {name!r}, which the sink adds itself", "other names"
            )
    return {field.name: _sql_type(field) for field in schema}


def _sql_type(field: t.StructField) -> str:
    kind = field.dataType
    if isinstance(kind, t.DecimalType):
        return f"numeric({kind.precision},{kind.scale})"
    found = _TYPES.get(type(kind))
    if found is None:
        raise DataError(
            f"frame: column {field.name!r} is {kind.simpleString()}, which a table of PostgreSQL "
            "is not given; allowed: numbers, text, bytes, booleans, dates, timestamps, and arrays, "
            "maps and structs of them (cast it)"
        )
    return found


def storable(frame: DataFrame) -> DataFrame:
    """Values as they are sent: nested ones as JSON."""
    return frame.select(*(_sent(field).alias(field.name) for field in frame.schema))


def _sent(field: t.StructField) -> Column:
    value = named(field.name)
    if isinstance(field.dataType, t.ArrayType | t.MapType | t.StructType):
        return as_json(value)
    return value.cast("smallint") if isinstance(field.dataType, t.ByteType) else value
