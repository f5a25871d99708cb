"""A file of statements: where streams come from, where results go, and one query.

```
SET spark.sql.shuffle.partitions = 4;
CREATE STREAM nyc (symbol STRING, price DOUBLE, ts TIMESTAMP)
    USING parquet OPTIONS (path 'data/nyc', maxFilesPerTrigger 1) TIME ts LATENESS 10 SECONDS;
CREATE STREAM tokyo USING generator OPTIONS (workload 'trades', rate 500)
    AS SELECT symbol, price, traded_at AS ts;
INSERT INTO parquet 'out/matches' CHECKPOINT 'out/checkpoint' EVERY 2 SECONDS FOR 1 MINUTE
SELECT ... FROM nyc, tokyo WHERE ... WINDOW 10 MINUTES;
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeAlias

from sqlglot import Token, TokenType

from streamjoin._names import ANY_CASE
from streamjoin.sql_text.clauses import duration
from streamjoin.sql_text.query import Query, read_query
from streamjoin.sql_text.words import Text, depths, is_name, is_word, listed

_STATEMENTS: Final = "SET ..., CREATE STREAM ..., then one SELECT or INSERT INTO ... SELECT"
_OF_STREAM: Final = ("USING", "OPTIONS", "TIME", "LATENESS", "AS")
_OF_TARGET: Final = ("OPTIONS", "CHECKPOINT", "EVERY", "FOR")

Option: TypeAlias = str | dict[str, str]
"""A value, or the name of the environment variable that has it, under ``env``."""


class Reader:
    """Goes through the words of a statement, one after the other.

    Examples
    --------
    >>> text = Text("EVERY 2 SECONDS FOR 1 DAY")
    >>> reader = Reader(text, text.statements()[0])
    >>> reader.accept("EVERY"), reader.duration("EVERY", "FOR"), reader.sees("FOR")
    (True, '2 SECONDS', True)
    >>> reader.name("a colour")
    'FOR'
    >>> reader.name("a colour")
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: query: line 1, column 21: got '1'; allowed: a colour
    """

    def __init__(self, text: Text, tokens: Sequence[Token]) -> None:
        self.text, self.tokens, self.at = text, tokens, 0

    @property
    def here(self) -> Token | None:
        """The next word; None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    @property
    def offset(self) -> int:
        """Where the next word begins, or where the last one ends."""
        return self.tokens[-1].end + 1 if self.here is None else self.here.start

    def sees(self, *words: str) -> bool:
        """Whether one of some words comes next."""
        return self.here is not None and is_word(self.here, words)

    def sees_text(self) -> bool:
        """Whether text in quotes comes next."""
        return self.here is not None and self.here.token_type == TokenType.STRING

    def accept(self, *words: str) -> bool:
        """Pass one of some words, if one comes next."""
        seen = self.sees(*words)
        self.at += seen
        return seen

    def fail(self, allowed: str) -> NoReturn:
        """Say that the next word is none that is allowed here."""
        got = "the end" if self.here is None else repr(self.here.text)
        raise self.text.error(self.offset, f"got {got}; allowed: {allowed}")

    def name(self, allowed: str) -> str:
        """Pass a name."""
        token = self.here
        if token is None or not is_name(token):
            self.fail(allowed)
        self.at += 1
        return token.text

    def text_in_quotes(self) -> str:
        """Pass text in quotes."""
        if not self.sees_text():
            self.fail("text in quotes, such as 'out/matches'")
        self.at += 1
        return self.tokens[self.at - 1].text

    def name_or_text(self, allowed: str) -> str:
        """Pass a name, in quotes or not."""
        return self.text_in_quotes() if self.sees_text() else self.name(allowed)

    def until(self, *words: str) -> list[Token]:
        """Pass what comes before one of some words."""
        begin = self.at
        while self.at < len(self.tokens) and not self.sees(*words):
            self.at += 1
        return list(self.tokens[begin : self.at])

    def parenthesis(self) -> list[Token] | None:
        """Pass what is in parentheses, if they come next."""
        if self.here is None or self.here.token_type != TokenType.L_PAREN:
            return None
        rest = self.tokens[self.at :]
        end = next((i for i, level in enumerate(depths(rest)) if level == 0), None)
        if end is None:
            raise self.text.error(self.offset, "a parenthesis that is not closed; allowed: )")
        self.at += end + 1
        return list(rest[1:end])

    def duration(self, word: str, *until: str) -> str:
        """Pass a duration, up to one of some words."""
        tokens = self.until(*until)
        if not tokens:
            self.fail(f"a duration behind {word}, such as {word} 10 SECONDS")
        return duration(self.text, word, tokens)


@dataclass(frozen=True)
class CreatedStream:
    """A stream to read: a Spark format with its options, and what to make of its columns."""

    name: str
    start: int
    format: str
    schema: str | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    time: str | None = None
    lateness: str | None = None
    select: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """Where results go, how often, and for how long."""

    start: int
    format: str = "console"
    path: str | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    checkpoint: str | None = None
    every: str | None = None
    duration: str | None = None


@dataclass(frozen=True)
class Script:
    """All statements of a file; settings are those of SET."""

    text: Text
    streams: tuple[CreatedStream, ...]
    target: Target
    query: Query
    settings: Mapping[str, str]


def read_script(text: str, argument: str) -> Script:
    """Read a file's statements, or say what is wrong and where.

    Examples
    --------
    >>> script = read_script('''
    ...     CREATE STREAM a USING rate OPTIONS (rowsPerSecond 5) LATENESS 1 SECOND;
    ...     INSERT INTO noop EVERY 2 SECONDS
    ...     SELECT x.value FROM a x JOIN a y USING (value) WINDOW 5 SECONDS
    ... ''', "q.sql")
    >>> script.streams[0].options, script.streams[0].lateness, script.target.every
    ({'rowsPerSecond': '5'}, '1 SECOND', '2 SECONDS')
    """
    whole = Text(text, argument)
    statements = whole.statements()
    if not statements:
        raise whole.error(0, f"no statement; allowed: {_STATEMENTS}")
    streams: list[CreatedStream] = []
    settings: dict[str, str] = {}
    for statement in statements[:-1]:
        if is_word(statement[0], {"SET"}):
            settings |= _setting(whole, statement)
            continue
        stream = _created(Reader(whole, statement))
        if ANY_CASE.find([other.name for other in streams], stream.name) is not None:
            raise whole.error(stream.start, f"a second stream {stream.name!r}; allowed: one")
        streams.append(stream)
    return Script(whole, tuple(streams), *_last(Reader(whole, statements[-1])), settings)


def _created(reader: Reader) -> CreatedStream:
    start = reader.offset
    if not (reader.accept("CREATE") and reader.accept("STREAM")):
        reader.at = 0
        reader.fail(_STATEMENTS)
    name = reader.name("the stream's name")
    columns = reader.parenthesis()
    if not reader.accept("USING"):
        reader.fail("USING and a format, such as USING parquet")
    made: dict[str, str] = {}
    source = reader.name_or_text("a format such as parquet")
    options: dict[str, Option] = {}
    select: tuple[str, ...] = ()
    while reader.at < len(reader.tokens):
        if reader.accept("OPTIONS"):
            options = _options(reader)
        elif reader.accept("TIME"):
            made["time"] = reader.name("the name of a column")
        elif reader.accept("LATENESS"):
            made["lateness"] = reader.duration("LATENESS", *_OF_STREAM)
        elif reader.accept("AS") and reader.accept("SELECT"):
            select = _select(reader)
        else:
            reader.fail("OPTIONS (...), TIME column, LATENESS duration, AS SELECT ...")
    schema = reader.text.cut(columns) if columns else None
    return CreatedStream(name, start, source, schema, options, select=select, **made)


def _last(reader: Reader) -> tuple[Target, Query]:
    """The statement that runs: where results go, and the query."""
    start = reader.offset
    if not reader.accept("INSERT"):
        if not reader.sees("SELECT", "WITH"):
            reader.fail(_STATEMENTS)
        return Target(start), read_query(reader.text, reader.tokens)
    if not reader.accept("INTO"):
        reader.fail("INTO and a format, such as INSERT INTO parquet 'out'")
    made: dict[str, str] = {}
    sink = reader.name_or_text("a format such as parquet")
    options: dict[str, Option] = {}
    if reader.sees_text():
        made["path"] = reader.text_in_quotes()
    while not reader.sees("SELECT", "WITH"):
        if reader.accept("OPTIONS"):
            options = _options(reader)
        elif reader.accept("CHECKPOINT"):
            made["checkpoint"] = reader.text_in_quotes()
        elif reader.accept("EVERY"):
            made["every"] = reader.duration("EVERY", *_OF_TARGET, "SELECT", "WITH")
        elif reader.accept("FOR"):
            made["duration"] = reader.duration("FOR", *_OF_TARGET, "SELECT", "WITH")
        else:
            reader.fail("OPTIONS (...), CHECKPOINT 'folder', EVERY duration, SELECT ...")
    query = read_query(reader.text, reader.tokens[reader.at :])
    return Target(start, sink, options=options, **made), query


def _select(reader: Reader) -> tuple[str, ...]:
    items = listed(reader.until())
    if not all(items):
        reader.fail("expressions with commas between them, such as AS SELECT id, price * 2 AS p")
    return tuple(map(reader.text.cut, items))


def _options(reader: Reader) -> dict[str, Option]:
    """``(path 'data', kafka.group.id = 'x', rate 500)``: names, then a value.

    ``name ENV LOGIN`` takes the value from the environment, as a pipeline file does.
    """
    example = "(name 'value', ...), such as (path 'data/nyc', rate 500)"
    inside = reader.parenthesis()
    if inside is None:
        reader.fail(example)
    options: dict[str, Option] = {}
    for item in listed(inside) if inside else []:
        minus = len(item) > 1 and item[-2].token_type == TokenType.DASH
        env = len(item) > 2 and item[-2].text.upper() == "ENV"
        words = item[:-2] if minus or env else item[:-1]
        name = [token for token in words if token.token_type != TokenType.EQ]
        if not name or any(t.token_type in (TokenType.NUMBER, TokenType.COMMA) for t in name):
            start = item[0].start if item else inside[0].start
            raise reader.text.error(start, f"OPTIONS: cannot read it; allowed: {example}")
        value = f"-{item[-1].text}" if minus else item[-1].text
        options["".join(token.text for token in name)] = {"env": value} if env else value
    return options


def _setting(text: Text, statement: Sequence[Token]) -> dict[str, str]:
    example = "SET name = value, such as SET spark.sql.shuffle.partitions = 4"
    equal = [i for i, token in enumerate(statement) if token.token_type == TokenType.EQ]
    if not equal or equal[0] < 2 or equal[0] + 1 == len(statement):
        raise text.error(statement[0].start, f"SET: cannot read it; allowed: {example}")
    value = statement[equal[0] + 1 :]
    alone = len(value) == 1 and value[0].token_type == TokenType.STRING
    name = "".join(token.text for token in statement[1 : equal[0]])
    return {name: value[0].text if alone else text.cut(value)}
