"""Topics of Kafka and tables of PostgreSQL in a file: what it may say, and what comes of it."""

from pathlib import Path

import pytest

from streamjoin.cli.app import run_app
from streamjoin.cli.pipeline_file import PipelineFile
from streamjoin.cli.places import KafkaSourceSection
from streamjoin.cli.run import spark_needs
from streamjoin.cli.sql_file import load_sql
from streamjoin.cli.table_file import SqlSection, TableFile, load_toml
from streamjoin.errors import ConfigError
from streamjoin.spark.failures import hide, keep
from streamjoin.spark.kafka import KafkaSink, KafkaSource, connector_jars
from streamjoin.spark.pipeline import BatchSink, Pipeline, Sink
from streamjoin.spark.sinks.postgres import PostgresSink
from tests.cli.test_pipeline_file import load, write

SECRET = "c0rrect-h0rse"
KAFKA = """
[sources.calls]
type = "kafka"
servers = "one:9092,two:9092"
topic = "calls"
schema = "person BIGINT, called_at TIMESTAMP"
max_rows_per_trigger = 500
options = { "kafka.sasl.jaas.config" = { env = "JAAS" }, failOnDataLoss = false }
[sources.trades]
type = "kafka"
servers = "[::1]:9092"
topic = "trades"
schema = "person BIGINT, traded_at TIMESTAMP"
starting = "latest"
select = ["*", "partition AS part"]
[join]
on = "person"
time = ["called_at", "traded_at"]
window = "10 seconds"
[sink]
type = "kafka"
servers = "one:9092"
topic = "joined"
[run]
trigger = "2 seconds"
checkpoint = "joined_checkpoint"
"""
POSTGRES = KAFKA.partition("[sink]")[0] + (
    '[sink]\ntype = "postgres"\nuri_env = "SHOP"\ntable = "public.pairs"\n'
    '[run]\ncheckpoint = "pairs_checkpoint"\n'
)
TABLE = POSTGRES.partition("[sources.trades]")[0] + (
    '[table]\ntype = "postgres"\nuri_env = "SHOP"\ntable = "people"\nkey = "id"\n'
    '[join]\non = "person"\n[sink]\ntype = "noop"\n'
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAAS", f'Login required username="ada" password="{SECRET}";')
    monkeypatch.setenv("SHOP", f"postgresql://writer:{SECRET}@127.0.0.1/shop")
    monkeypatch.setenv("STREAMJOIN_JARS", str(tmp_path / "jars"))


def planned(folder: Path, text: str) -> tuple[PipelineFile, Pipeline]:
    settings = load(write(folder, text))
    return settings, settings.plan(0.0, folder)


def test_topics_as_sources(tmp_path: Path) -> None:
    _, made = planned(tmp_path, KAFKA)
    left, right = made.streams.values()
    assert isinstance(left, KafkaSource)
    assert left.schema == "person BIGINT, called_at TIMESTAMP"
    assert left.options == {
        "kafka.sasl.jaas.config": f'Login required username="ada" password="{SECRET}";',
        "failOnDataLoss": "false",
        "kafka.bootstrap.servers": "one:9092,two:9092",
        "subscribe": "calls",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "500",
    }
    assert right.options["startingOffsets"] == "latest"
    assert right.select == ("*", "partition AS part")


def test_a_topic_as_sink(tmp_path: Path) -> None:
    _, made = planned(tmp_path, KAFKA)
    assert isinstance(made.sink, KafkaSink)
    assert made.sink.options == {"kafka.bootstrap.servers": "one:9092", "topic": "joined"}
    assert made.sink.place == "topic joined"
    assert made.sink.pair_id is not None
    _, made = planned(tmp_path, KAFKA.replace('"joined"', '"joined"\npair_id = false'))
    assert isinstance(made.sink, KafkaSink)
    assert made.sink.pair_id is None


@pytest.mark.parametrize(
    ("said", "name"),
    [("", True), ('pair_id = "number"', "number"), ("pair_id = false", False)],
)
def test_a_table_as_sink(tmp_path: Path, said: str, name: str | bool) -> None:
    _, made = planned(tmp_path, POSTGRES.replace("[run]", f"{said}\n[run]"))
    assert isinstance(made.sink, BatchSink)
    assert made.sink.place == "table public.pairs"
    assert isinstance(made.sink.write, PostgresSink)
    assert (made.sink.write.table, made.sink.write.pair_id) == ("public.pairs", name)


def test_a_pair_id_for_files(tmp_path: Path) -> None:
    sink = '[sink]\ntype = "parquet"\npath = "out"\npair_id = "id"\n'
    _, made = planned(tmp_path, POSTGRES.partition("[sink]")[0] + sink)
    assert isinstance(made.sink, Sink)
    assert made.sink.pair_id == "id"


def test_a_table_of_postgres_beside_a_stream(tmp_path: Path) -> None:
    settings = load_toml(write(tmp_path, TABLE))
    assert isinstance(settings, TableFile)
    assert isinstance(settings.table, SqlSection)
    assert isinstance(settings.sources["calls"], KafkaSourceSection)


SQL = """
CREATE STREAM calls (person BIGINT, called_at TIMESTAMP)
    USING kafka OPTIONS (servers 'one:9092', topic 'calls', failOnDataLoss false);
CREATE STREAM trades USING rate;
INSERT INTO postgres OPTIONS (uri_env 'SHOP', table 'pairs') CHECKPOINT 'ck'
SELECT c.person FROM calls c, trades t WHERE c.person = t.value WINDOW 5 MINUTES;
"""


def planned_sql(folder: Path, text: str) -> Pipeline:
    file = folder / "p.sql"
    file.write_text(text, encoding="utf-8")
    return load_sql(file).plan(0.0, folder)


def test_topics_in_a_sql_file(tmp_path: Path) -> None:
    made = planned_sql(tmp_path, SQL)
    assert made.streams["calls"].options == {
        "failOnDataLoss": "false",
        "kafka.bootstrap.servers": "one:9092",
        "subscribe": "calls",
        "startingOffsets": "earliest",
    }
    assert isinstance(made.sink, BatchSink)


@pytest.mark.parametrize(
    ("said", "pair_id"),
    [("", True), ("true", True), ("FALSE", False), ("'false'", False), ("'number'", "number")],
)
def test_pair_ids_in_a_sql_file(tmp_path: Path, said: str, pair_id: str | bool) -> None:
    option = f", pair_id {said}" if said else ""
    sink = planned_sql(tmp_path, SQL.replace("'pairs'", f"'pairs'{option}")).sink
    assert isinstance(sink, BatchSink)
    assert isinstance(sink.write, PostgresSink)
    assert sink.write.pair_id == pair_id
    topic = f"INTO kafka OPTIONS (servers 'one:9092', topic 'joined'{option})"
    text = SQL.replace("INTO postgres OPTIONS (uri_env 'SHOP', table 'pairs')", topic)
    if isinstance(pair_id, str):
        with pytest.raises(ConfigError, match="got 'number'; allowed: true or false"):
            planned_sql(tmp_path, text)
    else:
        message = planned_sql(tmp_path, text).sink
        assert isinstance(message, KafkaSink)
        assert (message.pair_id is not None) is pair_id


def test_options_of_a_sql_file_that_are_called_like_keys(tmp_path: Path) -> None:
    text = """
    CREATE STREAM a USING device OPTIONS (type 'thermometer', select 'all') AS SELECT id AS k, ts;
    CREATE STREAM b USING rate AS SELECT value AS k, timestamp AS ts;
    INSERT INTO parquet OPTIONS (path 'out', compression 'zstd')
    SELECT a.k FROM a, b WHERE a.k = b.k WINDOW 5 MINUTES;
    """
    made = planned_sql(tmp_path, text)
    assert made.streams["a"].format == "device"
    assert made.streams["a"].options == {"type": "thermometer", "select": "all"}
    assert made.streams["a"].select == ("id AS k", "ts")
    assert isinstance(made.sink, Sink)
    assert (made.sink.path, made.sink.options) == (str(tmp_path / "out"), {"compression": "zstd"})


def test_secrets_of_a_sql_file_are_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = "OPTIONS (kafka.sasl.jaas.config ENV LOGIN_OF_KAFKA,"
    text = SQL.replace("OPTIONS (", login, 1)
    with pytest.raises(ConfigError, match="got 'LOGIN_OF_KAFKA', which is not set") as refused:
        planned_sql(tmp_path, text)
    assert "p.sql" in str(refused.value)
    monkeypatch.setenv("LOGIN_OF_KAFKA", f'Login required password="{SECRET}";')
    made = planned_sql(tmp_path, text)
    assert SECRET in made.streams["calls"].options["kafka.sasl.jaas.config"]
    assert SECRET not in repr(made)
    needs = spark_needs(load_sql(tmp_path / "p.sql"))
    assert r"kafka\.sasl\.jaas\.config" in needs["spark.sql.redaction.options.regex"]


@pytest.mark.parametrize(
    ("kept", "text", "shown"),
    [
        ('x password="a\\"b-and-c";', 'login a\\"b-and-c failed', "login *** failed"),
        ("x password=plain-text; y", "got plain-text", "got ***"),
        ("5", "batch 15 of 5", "batch 15 of 5"),
    ],
)
def test_what_of_a_login_is_hidden(kept: str, text: str, shown: str) -> None:
    keep(kept)
    assert hide(text) == shown


def test_what_spark_needs(tmp_path: Path) -> None:
    settings, _ = planned(tmp_path, KAFKA)
    assert spark_needs(settings) == {
        "spark.sql.redaction.options.regex": r"(?i)url|(?i:kafka\.sasl\.jaas\.config)"
    }
    own = '[spark]\n"spark.sql.redaction.options.regex" = "mine|x"\n'
    settings, _ = planned(tmp_path, KAFKA + own)
    assert spark_needs(settings) == {
        "spark.sql.redaction.options.regex": r"(?:mine|x)|(?i:kafka\.sasl\.jaas\.config)"
    }
    settings, _ = planned(tmp_path, KAFKA)
    import pyspark

    folder = tmp_path / "jars" / f"connector-{pyspark.__version__}"
    folder.mkdir(parents=True)
    (folder / "spark-sql-kafka.jar").touch()
    assert spark_needs(settings)["spark.jars"] == str(connector_jars()[0])
    settings, _ = planned(tmp_path, KAFKA + '[spark]\nspark.jars = "mine.jar"\n')
    assert spark_needs(settings)["spark.jars"] == f"mine.jar,{connector_jars()[0]}"
    settings, _ = planned(tmp_path, KAFKA + '[spark]\nspark.jars.packages = "o:spark-sql-kafka:1"')
    assert "spark.jars" not in spark_needs(settings)


def test_secrets_are_in_no_text_of_a_pipeline(tmp_path: Path) -> None:
    settings, made = planned(tmp_path, KAFKA)
    table, tabled = planned(tmp_path, POSTGRES)
    assert SECRET not in repr((settings, made, table, tabled))
    assert hide(f"wrong password {SECRET}") == "wrong password ***"
    assert keep("") == ""
    assert hide("nothing") == "nothing"
    with pytest.raises(ConfigError) as refused:
        planned(tmp_path, f'sink = "{SECRET}"\n' + KAFKA.partition("[sink]")[0])
    words = "key `sink`: got a value of type str; allowed: a table [sink]"
    assert str(refused.value).endswith(words)


def test_the_command_line_hides_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(keep(SECRET))

    monkeypatch.setattr("streamjoin.cli.run.read", fail)
    for debug in ("", "1"):
        monkeypatch.setenv("STREAMJOIN_DEBUG", debug)
        assert run_app(["run", "a.toml"]) == 1
        said = capsys.readouterr().err
        assert SECRET not in said
        assert ("Traceback" in said) is bool(debug)
        assert "streamjoin: *** (RuntimeError" in said


MISTAKES = [
    ("servers =", "server =", "key `sources.calls.server`: unknown; did you mean `servers`?"),
    ('"one:9092,two:9092"', '"one"', "key `sources.calls.servers`: got 'one'; allowed: an address"),
    ('"one:9092,two:9092"', "9092", "key `sources.calls.servers`: got 9092; allowed: an address"),
    ('topic = "calls"', "", "key `sources.calls.topic`: missing; allowed: the name of a topic"),
    ('topic = "calls"', 'topic = "a b"', "key `sources.calls.topic`: got 'a b'; allowed: the name"),
    ("schema = ", "x = ", "key `sources.calls.schema`: missing; allowed: the columns of the JSON"),
    ('"latest"', '"new"', "key `sources.trades.starting`: got 'new'; allowed: earliest, latest"),
    ("= 500", "= 0", "key `sources.calls.max_rows_per_trigger`: got 0; allowed: a whole number, 1"),
    ('"JAAS"', '"NO"', "key `sources.calls.options`: got 'NO', which is not set; allowed: an"),
    ('"JAAS"', f'"{SECRET}"', "key `sources.calls.options`: got no name of a variable (not shown)"),
    (
        "{ env =",
        "{ file =",
        "key `sources.calls.options`: got a dict for 'kafka.sasl.jaas.config'; allowed: text, ",
    ),
    (
        "failOnDataLoss = false",
        'subscribe = "x"',
        "key `sources.calls.options`: got 'subscribe'; allowed: the key topic in place of it",
    ),
    (
        '"joined"\n',
        '"joined"\npair_id = "id"\n',
        "key `sink.pair_id`: got 'id'; allowed: true or false: whether the key",
    ),
    (
        'type = "kafka"\nservers = "[',
        'type = "postgres"\nservers = "[',
        "key `sources.trades.type`: got 'postgres'; allowed: parquet, json, csv, kafka, generator",
    ),
    ('checkpoint = "joined_checkpoint"', "", "key `run.checkpoint`: missing; allowed: a folder"),
]
TABLE_MISTAKES = [
    ('uri_env = "SHOP"', "", "key `sink.uri`: got no address; allowed: one of uri, uri_env"),
    ('"SHOP"', '"NO"', "key `sink.uri_env`: got 'NO', which is not set; allowed: an environment"),
    ('"SHOP"', f'"postgresql://me:{SECRET}@db/x"', "key `sink.uri_env`: got no name of a variable"),
    ("uri_env", f'uri = "{SECRET}"\nuri_env', "key `sink.uri`: got uri_env and uri; allowed: one"),
    ('uri_env = "SHOP"', 'uri = ["a"]', "key `sink.uri`: got no text; allowed: an address such"),
    ('"public.pairs"', '"a.b.c"', "key `sink.table`: got 'a.b.c'; allowed: the table's name in"),
    ('"public.pairs"', "3", "key `sink.table`: got 3; allowed: the table's name in the database"),
    (
        '"public.pairs"',
        '"pairs"\npair_id = 1',
        "key `sink.pair_id`: got 1; allowed: true, false, or the name of the column for the pair",
    ),
    ('"public.pairs"', '"pairs"\npath = "x"', "key `sink.path`: unknown; "),
]


@pytest.mark.parametrize(
    ("text", "old", "new", "sentence"),
    [(KAFKA, *mistake) for mistake in MISTAKES] + [(POSTGRES, *one) for one in TABLE_MISTAKES],
)
def test_mistakes_name_the_key_and_what_is_allowed(
    tmp_path: Path, text: str, old: str, new: str, sentence: str
) -> None:
    assert old in text
    file = write(tmp_path, text.replace(old, new, 1))
    with pytest.raises(ConfigError) as refused:
        load(file)
    lines = [line.removeprefix(f"{file}: ") for line in str(refused.value).splitlines()]
    assert any(line.startswith(sentence) for line in lines), lines
    assert SECRET not in str(refused.value)


def test_an_address_of_another_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP", f"mysql://writer:{SECRET}@127.0.0.1/shop")
    with pytest.raises(ConfigError) as refused:
        planned(tmp_path, POSTGRES)
    words = (
        "key `sink.uri`: got no address of PostgreSQL; allowed: 'postgresql://user@host/database'"
    )
    assert str(refused.value).endswith(words)
