import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from streamjoin.dashboard import Dashboard, feed, server, start_dashboard, store
from streamjoin.errors import ConfigError
from streamjoin.metrics.records import Decision, Started
from tests.dashboard.recordings import DRAWING, failed, overloaded, write

PATIENCE = 60.0
"""Seconds after which something will not happen any more; a machine may be busy."""
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def dashboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dashboard]:
    monkeypatch.setattr(store, "SEARCH", 0.1)
    write(tmp_path / "one", overloaded(30, ends=False))
    with start_dashboard([tmp_path], port=0) as served:
        yield served


def ask(
    dashboard: Dashboard, path: str, method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(urlsplit(dashboard.url).netloc, timeout=PATIENCE)
    connection.request(
        method, path, headers={name.replace("_", "-"): headers[name] for name in headers}
    )
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def get(dashboard: Dashboard, path: str) -> Any:
    answer, content = ask(dashboard, path)
    assert answer.status == 200
    return json.loads(content)


def first_id(dashboard: Dashboard) -> str:
    return str(get(dashboard, "/queries")["queries"][0]["id"])


class Listener:
    """Reads server-sent events."""

    def __init__(self, dashboard: Dashboard, query: str, after: str, **headers: str) -> None:
        place = urlsplit(dashboard.url).netloc
        self.connection = http.client.HTTPConnection(place, timeout=PATIENCE)
        self.connection.request("GET", f"/news?query={query}&after={after}", headers=headers)
        self.answer = self.connection.getresponse()

    def next(self) -> dict[str, str]:
        event: dict[str, str] = {}
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if not line and ("data" in event or not event):
                return event
            name, _, value = line.partition(": ")
            if name in ("id", "event", "data"):
                event[name] = value
            elif not line:
                event = {}

    def until(self, kind: str) -> dict[str, str]:
        event = self.next()
        while event.get("event") != kind:
            event = self.next()
        return event


def test_serves_its_own_files_with_a_strict_policy(dashboard: Dashboard) -> None:
    for path, (_, kind) in server.FILES.items():
        answer, content = ask(dashboard, path)
        assert (answer.status, answer.headers["Content-Type"]) == (200, kind)
        assert len(content) == int(answer.headers["Content-Length"]) > 100
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in answer.headers
    answer, content = ask(dashboard, "/", "HEAD")
    assert (answer.status, content) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/static/page.js",
        "/%2e%2e/server.py",
        "/page.js/../../server.py",
        "//etc/passwd",
        "/query?query=../../etc/passwd",
        "/query",
        "/drawing.svg?query=%2Fetc%2Fpasswd",
        "/nothing",
    ],
)
def test_no_address_becomes_the_path_of_a_file(dashboard: Dashboard, path: str) -> None:
    answer, content = ask(dashboard, path)
    assert (answer.status, content) == (404, b"There is no such page or query.")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"])
def test_only_reads(dashboard: Dashboard, method: str) -> None:
    assert ask(dashboard, "/queries", method)[0].status == 501


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "["]
)
def test_refuses_names_that_point_here(dashboard: Dashboard, host: str) -> None:
    answer, content = ask(dashboard, "/queries", Host=host)
    assert answer.status == 421
    assert b"queries" not in content


def test_an_address_that_cannot_be_read_is_refused(dashboard: Dashboard) -> None:
    many = "&".join(f"a{n}=1" for n in range(50))
    assert ask(dashboard, f"/query?{many}")[0].status == 400
    with socket.create_connection(("127.0.0.1", urlsplit(dashboard.url).port or 0)) as connection:
        connection.sendall(b"GET http://[/queries HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 400 " in connection.recv(100)


def test_the_drawing_cannot_run_anything(tmp_path: Path) -> None:
    drawing = DRAWING.replace("<title>", "<script>alert(1)</script><title>")
    write(tmp_path, [Started("q", drawing=drawing)])
    with start_dashboard([tmp_path], port=0) as dashboard:
        answer, content = ask(dashboard, f"/drawing.svg?query={first_id(dashboard)}")
    assert content.decode() == drawing
    assert answer.headers["Content-Type"] == "image/svg+xml"
    policy = answer.headers["Content-Security-Policy"]
    assert "sandbox" in policy
    assert "script-src" not in policy  # so `default-src 'none'` holds for scripts


def test_names_are_values_not_markup(tmp_path: Path) -> None:
    write(tmp_path / "x", overloaded(5, query=HOSTILE))
    with start_dashboard([tmp_path], port=0) as dashboard:
        answer, content = ask(dashboard, "/queries")
        assert answer.headers["Content-Type"] == "application/json"
        assert json.loads(content)["queries"][0]["name"] == HOSTILE


def test_news_arrive_and_are_told_again_to_one_who_was_away(
    dashboard: Dashboard, tmp_path: Path
) -> None:
    name = first_id(dashboard)
    document = get(dashboard, f"/query?query={name}")
    listener = Listener(dashboard, name, document["mark"])
    write(tmp_path / "one", list(overloaded(5, start=document["last_at"] + 1, first=30))[1:])
    point = listener.until("point")
    assert json.loads(point["data"])["batch"] == 30
    while json.loads(listener.until("state")["data"])["status"] == "running":
        pass
    listener.connection.close()

    again = Listener(dashboard, name, document["mark"], **{"Last-Event-ID": point["id"]})
    assert json.loads(again.until("point")["data"])["batch"] == 31
    assert len(get(dashboard, f"/query?query={name}")["joins"][0]["at"]) >= 34


@pytest.mark.parametrize("mark", ["", "0", "other-1", "other-" + "9" * 5000, "x-\u0661"])
def test_who_cannot_go_on_is_told_to_read_all_again(dashboard: Dashboard, mark: str) -> None:
    name = first_id(dashboard)
    get(dashboard, f"/query?query={name}")
    listener = Listener(dashboard, name, mark.encode("ascii", "ignore").decode())
    assert listener.next() == {}
    assert listener.next()["event"] == "reload"


def test_a_query_that_appears_later_is_told(dashboard: Dashboard, tmp_path: Path) -> None:
    listener = Listener(dashboard, "", get(dashboard, "/queries")["mark"])
    write(tmp_path / "two", failed())
    names = {query["name"]: query for query in json.loads(listener.until("queries")["data"])}
    assert names["fragile"]["status"] == "failed"


def test_what_cannot_be_read_does_not_end_the_news(
    dashboard: Dashboard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: object) -> None:
        msg = "nobody foresaw this"
        raise ValueError(msg)

    name, mark = first_id(dashboard), get(dashboard, "/queries")["mark"]
    get(dashboard, f"/query?query={name}")
    with monkeypatch.context() as patch:
        patch.setattr(feed.OpenQuery, "look", broken)
        patch.setattr(store, "find_queries", broken)
        until = time.monotonic() + PATIENCE
        while caplog.text.count("could not be read") < 2 and time.monotonic() < until:
            time.sleep(0.05)
    assert caplog.text.count("nobody foresaw this") >= 2
    listener = Listener(dashboard, name, mark)
    write(tmp_path / "two", failed())
    assert "fragile" in listener.until("queries")["data"]
    write(tmp_path / "one", [Decision(1.0, "streamjoin", 1, "after all")])
    assert "after all" in listener.until("entry")["data"]


def test_a_file_that_is_removed_leaves_the_list_and_harms_nothing(
    dashboard: Dashboard, tmp_path: Path
) -> None:
    name, mark = first_id(dashboard), get(dashboard, "/queries")["mark"]
    get(dashboard, f"/query?query={name}")
    (tmp_path / "one/metrics.jsonl").unlink()
    assert json.loads(Listener(dashboard, name, mark).until("queries")["data"]) == []
    assert get(dashboard, "/queries")["queries"] == []


def test_clients_that_are_slow_or_gone_cost_no_thread_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And while they are waited for, others are answered."""
    monkeypatch.setattr(server, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(server.Handler, "timeout", 10 * PATIENCE)
    write(tmp_path, overloaded(5))
    with start_dashboard([tmp_path], port=0) as dashboard:
        before = threading.active_count()
        address = ("127.0.0.1", urlsplit(dashboard.url).port or 0)
        patient = socket.create_connection(address)
        name = first_id(dashboard)
        mark = get(dashboard, f"/query?query={name}")["mark"]
        patient.close()
        wait_until(lambda: threading.active_count() <= before)
        monkeypatch.setattr(server.Handler, "timeout", 0.5)
        gone = [Listener(dashboard, name, mark) for _ in range(5)]
        silent = [socket.create_connection(address)]
        assert threading.active_count() >= before + 5
        for listener in gone:
            listener.answer.close()
            listener.connection.close()
        assert get(dashboard, "/queries")["queries"]
        wait_until(lambda: threading.active_count() <= before)
        silent[0].close()


def test_not_more_clients_than_threads_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_CLIENTS", 2)
    with start_dashboard([tmp_path], port=0) as dashboard:
        address = ("127.0.0.1", urlsplit(dashboard.url).port or 0)
        first = [socket.create_connection(address) for _ in range(2)]
        wait_until(lambda: dashboard._server._free._value == 0)
        third = socket.create_connection(address)
        third.settimeout(PATIENCE)
        assert third.recv(1) == b""
        for connection in (*first, third):
            connection.close()
        wait_until(lambda: answers(dashboard))


def answers(dashboard: Dashboard) -> bool:
    try:
        return ask(dashboard, "/queries")[0].status == 200
    except OSError:
        return False


def wait_until(holds: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_closing_ends_its_threads(tmp_path: Path) -> None:
    before = threading.active_count()
    dashboard = start_dashboard([tmp_path], port=0)
    listener = Listener(dashboard, "", get(dashboard, "/queries")["mark"])
    dashboard.close()
    wait_until(lambda: threading.active_count() <= before)
    listener.connection.close()
    with pytest.raises(OSError, match=r"."):
        ask(dashboard, "/")


def test_a_large_file_is_shown_from_its_end_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "LARGE_BYTES", 100_000)
    monkeypatch.setattr(feed, "END_BYTES", 20_000)
    reading = threading.Event()
    read_all = feed.OpenQuery._read_all

    def wait_and_read(query: feed.OpenQuery, history: Any) -> bool:
        reading.wait(10 * PATIENCE)
        return read_all(query, history)

    monkeypatch.setattr(feed.OpenQuery, "_read_all", wait_and_read)
    write(tmp_path, overloaded(200, ends=False))
    with start_dashboard([tmp_path], port=0) as dashboard:
        name = first_id(dashboard)
        document = get(dashboard, f"/query?query={name}")
        assert (document["is_whole"], document["name"]) == (False, "calls_and_trades")
        assert 2 < len(document["joins"][0]["at"]) < 20
        reading.set()
        Listener(dashboard, name, document["mark"]).until("reload")
        document = get(dashboard, f"/query?query={name}")
        assert document["is_whole"]
        assert len(document["joins"][0]["at"]) > 190


def test_many_records_at_once_make_the_pages_read_all_again(
    dashboard: Dashboard, tmp_path: Path
) -> None:
    name = first_id(dashboard)
    document = get(dashboard, f"/query?query={name}")
    listener = Listener(dashboard, name, document["mark"])
    more = list(overloaded(300, start=document["last_at"] + 1, first=30))[1:]
    (tmp_path / "more").mkdir()
    write(tmp_path / "more", more)
    with (tmp_path / "one/metrics.jsonl").open("a") as file:
        file.write((tmp_path / "more/metrics.jsonl").read_text())
    listener.until("reload")


def test_a_port_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"^port: got {port}, in use on 127.0.0.1; allowed:"):
            start_dashboard([tmp_path], port=port)
        monkeypatch.setattr(server, "PORT", port)
        with start_dashboard([tmp_path]) as dashboard:
            assert urlsplit(dashboard.url).port != port
        monkeypatch.setattr(server, "MOST_PORTS", 1)
        with pytest.raises(ConfigError, match=r"^port: got"):
            start_dashboard([tmp_path])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"port": 70_000}, "port: got 70000; allowed: 0 to 65535"),
        ({"port": -1}, "port: got -1; allowed: 0 to 65535"),
        ({"host": "no.such.host.invalid", "port": 0}, "host: got 'no.such.host.invalid' "),
        ({"host": "192.0.2.1", "port": 0}, "host: got '192.0.2.1' "),
    ],
)
def test_what_cannot_be_listened_on_is_refused(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        start_dashboard([tmp_path], **arguments)
    assert str(refused.value).startswith(message)


def test_other_machines_reach_it_by_number_or_by_its_name_only(tmp_path: Path) -> None:
    with start_dashboard([tmp_path], host="0.0.0.0", port=0) as dashboard:
        assert socket.gethostname() in dashboard.url
        address = f"127.0.0.1:{urlsplit(dashboard.url).port}"
        local = type("Local", (), {"url": f"http://{address}/"})()
        assert ask(local, "/queries", Host="192.168.7.7")[0].status == 200
        assert ask(local, "/queries", Host=socket.gethostname())[0].status == 200
        assert ask(local, "/queries", Host="evil.example")[0].status == 421
