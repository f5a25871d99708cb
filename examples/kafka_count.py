"""Two Kafka topics in, one out, and every message counted, though the query is killed meanwhile.

    make kafka

A broker is started on this machine, calls and trades are written to it for a while, and
examples/kafka.toml joins them. When results come, the query is killed with all its processes, and
started again. In the end all messages are read back and compared with the join in plain Python.
"""

import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import streamjoin as sj
from tests.system.servers.kafka import Broker, missing

FILE = Path(__file__).with_name("kafka.toml")
PEOPLE = 40
Pairs = Counter[tuple[int, int]]
Messages = dict[bytes, bytes]
WINDOW = (dt.timedelta(seconds=10), dt.timedelta(seconds=2))  # as in the file


def main() -> None:
    reason = missing()
    if reason:
        sys.exit(reason)
    with tempfile.TemporaryDirectory(prefix="kafka_") as name:
        folder = Path(name)
        with Broker.start(folder / "broker") as broker:
            print(f"a broker is at {broker.address}")
            wrong = demonstrate(broker, folder, seconds=25)
    sys.exit(1 if wrong else 0)


def demonstrate(broker: Broker, folder: Path, seconds: float) -> int:
    """Write, join, kill, join, count; how many results are wrong."""
    for topic in ("calls", "trades"):
        broker.create_topic(topic, partitions=2)
    broker.create_topic("joined")
    file = folder / "pipeline" / FILE.name
    file.parent.mkdir()
    text = FILE.read_text("utf-8").replace("127.0.0.1:9092", broker.address)
    file.write_text(text, encoding="utf-8")

    writer = Thread(target=write, args=(broker.address, seconds))
    writer.start()
    with Run(file) as run:
        run.wait_until(lambda: len(broker.read("joined")) > 0)
        time.sleep(random.uniform(0, 2))
        run.end(signal.SIGKILL)
    print(f"the query was killed when {len(broker.read('joined')):,} results had been written")
    writer.join()
    wanted = expected(broker)
    with Run(file) as run:
        run.wait_until(lambda: len(by_pair_id(broker)) >= len(wanted))
        run.end(signal.SIGINT)
    return report(len(broker.read("joined")), by_pair_id(broker), wanted)


class Run:
    """`streamjoin run FILE` in a process group of its own, gone at the end of a ``with``."""

    def __init__(self, file: Path) -> None:
        command = [str(Path(sys.executable).with_name("streamjoin")), "run", str(file)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + 180
        while not condition() and time.monotonic() < until:
            if self._process.poll() is not None:
                sys.exit(f"the query ended by itself, with exit code {self._process.returncode}")
            time.sleep(0.3)

    def end(self, how: signal.Signals) -> None:
        """Ask it to end, as Ctrl-C does, or kill all of it, Java and Python's workers."""
        if how == signal.SIGKILL:
            os.killpg(self._process.pid, how)
        else:
            self._process.send_signal(how)
        self._process.wait(60)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.end(signal.SIGKILL)


def write(address: str, seconds: float) -> None:
    """60 calls and 40 trades a second, up to half a second out of order."""
    from kafka import KafkaProducer

    chance = random.Random(7)
    begin = time.monotonic()
    with KafkaProducer(bootstrap_servers=address, acks="all") as producer:
        for number in range(int(100 * seconds)):
            time.sleep(max(0.0, begin + number / 100 - time.monotonic()))
            at = dt.datetime.now(dt.timezone.utc) - dt.timedelta(seconds=chance.uniform(0, 0.5))
            row: dict[str, Any] = {"number": number, "person": chance.randrange(PEOPLE)}
            if number % 5 < 3:
                topic, row["called_at"] = "calls", at.isoformat()
            else:
                topic, row["traded_at"] = "trades", at.isoformat()
                row["price"] = round(chance.uniform(10, 90), 2)
            producer.send(topic, json.dumps(row).encode())


def expected(broker: Broker) -> Pairs:
    """The pairs that must come out of what is in the topics, by number of call and trade."""
    calls, trades = (
        [json.loads(value or b"") for _, value in broker.read(topic)]
        for topic in ("calls", "trades")
    )
    for row in calls:
        row["called_at"] = dt.datetime.fromisoformat(row["called_at"])
    for row in trades:
        row["traded_at"] = dt.datetime.fromisoformat(row["traded_at"])
    on, at = [("person", "person")], ("called_at", "traded_at")
    pairs = sj.oracle.window_join(calls, trades, on=on, time=at, window=WINDOW)
    print(f"{len(calls):,} calls and {len(trades):,} trades were written: {len(pairs):,} pairs")
    return Counter((call["number"], trade["number"]) for call, trade in pairs)


def by_pair_id(broker: Broker) -> Messages:
    """What a reader has that drops messages whose key was there before."""
    return {key: value for key, value in broker.read("joined") if key and value}


def report(written: int, found: Messages, wanted: Pairs) -> int:
    """Print what was found beside what was wanted; how many results are wrong."""
    rows = [json.loads(value) for value in found.values()]
    pairs = Counter((row["number_left"], row["number_right"]) for row in rows)
    print(f"{written:,} results were written, {written - len(rows):,} of them again after the kill")
    lost, doubled = (wanted - pairs).total(), (pairs - Counter(set(pairs))).total()
    invented = len(set(pairs) - set(wanted))
    print(f"lost {lost}, doubled {doubled}, invented {invented}")
    return lost + doubled + invented


if __name__ == "__main__":
    main()
