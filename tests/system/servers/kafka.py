"""A Kafka broker of our own: one node, on this machine only, for as long as it is needed."""

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.scale_cluster import die_with_parent
from scripts import jars
from streamjoin.spark import kafka

_SECONDS: Final = 60
"""That it may take to start or to end."""
_NAME: Final = "c3RyZWFtam9pbiB0ZXN0cw"
"""Of the cluster: sixteen bytes in base 64."""
_JAVA: Final = ("java", "-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_SETTINGS: Final = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=CLIENTS://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=CLIENTS://127.0.0.1:{port}
listener.security.protocol.map=CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENTS
controller.listener.names=CONTROLLER
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
"""


class Message(NamedTuple):
    """What a topic holds, as bytes."""

    key: bytes | None
    value: bytes | None


def missing() -> str | None:
    """Why there can be no broker, if so."""
    if shutil.which("java") is None:
        return "Kafka needs Java, and there is none"
    if not jars.broker():
        return "Kafka's jars are not there: make jars"
    if find_spec("kafka") is None:
        return "kafka-python is not installed"
    return None


def connector_jars() -> list[str]:
    """What Spark needs to read and write Kafka, for its setting ``spark.jars``."""
    return [str(jar) for jar in kafka.connector_jars()]


class Broker:
    """A broker without topics, gone at the end of a ``with``.

    `stop` or `kill`, and then `start_again`, keep what is in it. It also ends if the process that
    started it is killed, where the system is Linux.

    Attributes
    ----------
    address
        Where clients find it, for ``kafka.bootstrap.servers``.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        port, controller = _free_ports()
        self.address = f"127.0.0.1:{port}"
        text = _SETTINGS.format(port=port, controller=controller, folder=folder)
        self._settings = folder / "server.properties"
        self._settings.write_text(text, encoding="utf-8")
        command = ("kafka.tools.StorageTool", "format", "-t", _NAME, "-c", str(self._settings))
        tool = self._java(*command)
        try:
            code = tool.wait(_SECONDS)
        finally:
            tool.kill()
        assert code == 0, f"Kafka's storage was not made: {folder / 'output.log'}"
        self.start_again()

    @classmethod
    def start(cls, folder: Path) -> "Broker":
        """Start one with its files in this folder, and wait until it answers."""
        return cls(folder)

    def start_again(self) -> None:
        """Start it at the same address, and wait until it answers."""
        self._process = self._java("kafka.Kafka", str(self._settings))
        until = time.monotonic() + _SECONDS
        try:
            while not self._answers():
                went_on = self._process.poll() is None and time.monotonic() < until
                assert went_on, f"Kafka's broker did not start: {self._folder / 'output.log'}"
                time.sleep(0.1)
        except BaseException:
            self.kill()
            raise

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic, and wait until it can be written to."""
        from kafka.admin import NewTopic

        with self._admin() as admin:
            admin.create_topics([NewTopic(name, partitions, 1)])
            until = time.monotonic() + _SECONDS
            while not _has_leaders(admin.describe_topics([name])):
                assert time.monotonic() < until, f"Kafka's topic {name} has no leader"
                time.sleep(0.05)

    def write(self, topic: str, values: Iterable[bytes | None]) -> None:
        """Write messages, and wait until it has them."""
        from kafka import KafkaProducer

        with KafkaProducer(bootstrap_servers=self.address, acks="all") as producer:
            for value in values:
                # One without a value must have a key, which it deletes.
                producer.send(topic, value, key=b"deleted" if value is None else None)
            producer.flush()

    def read(self, topic: str) -> list[Message]:
        """Every message that is in a topic now."""
        from kafka import KafkaConsumer, TopicPartition

        found: list[Message] = []
        with KafkaConsumer(bootstrap_servers=self.address, group_id=None) as consumer:
            parts = [TopicPartition(topic, n) for n in consumer.partitions_for_topic(topic)]
            ends = consumer.end_offsets(parts)
            consumer.assign(parts)
            consumer.seek_to_beginning()
            while any(consumer.position(part) < ends[part] for part in parts):
                for messages in consumer.poll(timeout_ms=100).values():
                    found += [Message(one.key, one.value) for one in messages]
        return found

    def stop(self) -> None:
        """Let it end in order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a failure does."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End it, and remove its files."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> "Broker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _java(self, *arguments: str) -> "subprocess.Popen[bytes]":
        path = ":".join(map(str, jars.broker()))
        with (self._folder / "output.log").open("ab") as log:
            command = [*_JAVA, "-cp", path, *arguments]
            return subprocess.Popen(
                command,
                cwd=self._folder,
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent if sys.platform == "linux" else None,
            )

    def _end(self, how: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait(_SECONDS)

    def _answers(self) -> bool:
        """Whether all topics can be written to; before, a connection alone says little."""
        from kafka.errors import KafkaError

        host, _, port = self.address.partition(":")
        try:
            # The client waits ever longer for a port that is not open; this does not.
            socket.create_connection((host, int(port)), timeout=1).close()
            with self._admin() as admin:
                return _has_leaders(admin.describe_topics())
        except (KafkaError, OSError):
            return False

    def _admin(self) -> Any:
        from kafka import KafkaAdminClient

        return KafkaAdminClient(bootstrap_servers=self.address, bootstrap_timeout_ms=5000)


def _has_leaders(topics: list[dict[str, Any]]) -> bool:
    return all(part["leader_id"] >= 0 for topic in topics for part in topic["partitions"])


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as two:
        for free in (one, two):
            free.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]
