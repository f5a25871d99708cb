"""Serves the live page: who may ask, what is answered, and a thread that listens."""

import errno
import json
import logging
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from ipaddress import ip_address
from pathlib import Path
from socketserver import TCPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from streamjoin.dashboard.store import Store
from streamjoin.errors import ConfigError

logger = logging.getLogger(__name__)

FILES: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/licenses.txt": ("licenses.txt", "text/plain; charset=utf-8"),
}
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
DRAWING: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"
}
HEARTBEAT_SECONDS: Final = 10.0
CLIENT_SECONDS: Final = 20.0
"""After which a client that takes nothing any more is given up."""
PORT: Final = 8765
MOST_PORTS: Final = 20
"""So many are tried from that one on."""
MOST_CLIENTS: Final = 64
EVERYWHERE: Final = ("0.0.0.0", "::")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return host == "localhost" or (_is_number(host) and ip_address(host).is_loopback)


def is_allowed(header: str | None, host: str) -> bool:
    """Whether a request's Host header names this server, which listens on `host`.

    A page of another site can let its own name point to this machine and so read what only this
    machine may (DNS rebinding): its name is then in the header. Numbers cannot be made to point
    elsewhere.

    Examples
    --------
    >>> is_allowed("localhost:8765", "127.0.0.1"), is_allowed("[::1]:8765", "127.0.0.1")
    (True, True)
    >>> is_allowed("example.com:8765", "127.0.0.1"), is_allowed("10.0.0.7", "127.0.0.1")
    (False, False)
    >>> is_allowed("10.0.0.7", "0.0.0.0"), is_allowed("example.com", "0.0.0.0")
    (True, False)
    """
    try:
        name = urlsplit(f"//{header or ''}").hostname
    except ValueError:
        return False
    if not name:
        return False
    if is_loopback(host):
        return is_loopback(name)
    own = {host.lower(), "localhost", socket.gethostname().lower()}
    return name in own or _is_number(name)


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class Handler(BaseHTTPRequestHandler):
    """One connection; nothing in an address ever becomes the path of a file."""

    protocol_version = "HTTP/1.1"
    timeout = CLIENT_SECONDS
    server_version, sys_version = "streamjoin", ""
    store: Store
    host: str

    def do_GET(self) -> None:
        """Answer a request."""
        if not is_allowed(self.headers.get("Host"), self.host):
            text = "The Host header names another machine: use this one's address as a number."
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, text)
            return
        try:
            asked = urlsplit(self.path)
            names = parse_qs(asked.query, max_num_fields=8)
        except ValueError:
            self._answer(HTTPStatus.BAD_REQUEST, "The address cannot be read.")
            return
        self._route(asked.path, {name: values[-1] for name, values in names.items()})

    do_HEAD = do_GET

    def _route(self, path: str, names: Mapping[str, str]) -> None:
        query = names.get("query", "")
        if path in FILES:
            name, kind = FILES[path]
            self._send(_asset(name), kind)
        elif path == "/queries":
            self._json(self.store.listed())
        elif path == "/query":
            self._json(self.store.document(query))
        elif path == "/drawing.svg" and (drawing := self.store.drawing(query)):
            self._send(drawing.encode("utf-8", errors="replace"), "image/svg+xml", DRAWING)
        elif path == "/news":
            self._news(query, self.headers.get("Last-Event-ID") or names.get("after", ""))
        else:
            self._json(None)

    def _json(self, values: Any) -> None:
        if values is None:
            self._answer(HTTPStatus.NOT_FOUND, "There is no such page or query.")
        else:
            text = json.dumps(values, separators=(",", ":"), allow_nan=False)
            self._send(text.encode(), "application/json")

    def _answer(self, status: HTTPStatus, text: str) -> None:
        self._send(text.encode(), "text/plain; charset=utf-8", status=status)

    def _send(
        self,
        content: bytes,
        kind: str,
        headers: Mapping[str, str] = HEADERS,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> None:
        self._begin(kind, {**headers, "Content-Length": str(len(content))}, status)
        if self.command != "HEAD":
            self.wfile.write(content)

    def _begin(
        self, kind: str, headers: Mapping[str, str] = HEADERS, status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, **headers, "Content-Type": kind}.items():
            self.send_header(name, value)
        self.end_headers()

    def _news(self, query: str, mark: str) -> None:
        """News as server-sent events, until the client is gone, too slow or too far behind."""
        self.close_connection = True
        self._begin("text/event-stream")
        if self.command == "HEAD":
            return
        self.wfile.write(b"retry: 1000\n\n")
        feed = self.store.feed
        while not feed.is_closed:
            rest = feed.after(mark, query)
            if rest is None or (query and not self.store.is_open(query)):
                self.wfile.write(b"event: reload\ndata: {}\n\n")
                return
            news, number = rest
            for one in news:
                head = f"id: {feed.mark(one.number)}\nevent: {one.kind}\n"
                self.wfile.write(f"{head}data: {one.text}\n\n".encode())
            mark = feed.mark(number)
            if not feed.wait(number, HEARTBEAT_SECONDS):
                self.wfile.write(b": still here\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal belongs to the query."""


@lru_cache
def _asset(name: str) -> bytes:
    return (resources.files("streamjoin.dashboard") / "static" / name).read_bytes()


class Dashboard:
    """A live page that is being served; `start_dashboard` makes it."""

    def __init__(self, server: "_Server", store: Store, host: str) -> None:
        self._server, self._store = server, store
        host = socket.gethostname() if host in EVERYWHERE else host
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{server.server_address[1]}/"
        self._thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._store.start()
        self._thread.start()

    def __enter__(self) -> "Dashboard":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving."""
        self._store.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def start_dashboard(
    folders: Sequence[str | Path], host: str = "127.0.0.1", port: int | None = None
) -> Dashboard:
    """Serve the live page of all queries below some folders.

    It is served by threads of this process until it is closed. Only this machine can reach it,
    unless `host` says otherwise; there is no password.

    Parameters
    ----------
    folders
        Where queries keep their ``metrics.jsonl``, at most six folders deep; they need not be there
        yet.
    host
        The address to listen on.
    port
        The port to listen on; 0 for any that is free. Default: 8765, or the next that is free.

    Examples
    --------
    >>> with start_dashboard([getfixture("tmp_path")], port=0) as dashboard:
    ...     print(dashboard.url)
    http://127.0.0.1:...
    """
    store = Store([Path(folder) for folder in folders])
    handler = type("PageHandler", (Handler,), {"store": store, "host": host})
    return Dashboard(_listen(host, port, handler), store, host)


def _listen(host: str, port: int | None, handler: type[Handler]) -> "_Server":
    if port is not None and not 0 <= port <= 65535:
        raise ConfigError.at("port", port, "0 to 65535")
    tried = range(PORT, PORT + MOST_PORTS) if port is None else range(port, port + 1)
    for one in tried:
        server = _server(host, one, handler)
        if server is not None:
            return server
    taken = f"{tried[0]}" if len(tried) == 1 else f"{tried[0]} to {tried[-1]}"
    raise ConfigError.at("port", f"{taken}, in use on {host}", "one that is free, or 0 for any")


def _server(host: str, port: int, handler: type[Handler]) -> "_Server | None":
    """The server; None if somebody else has the port."""
    try:
        return _Server(host, port, handler)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return None
        msg = f"host: got {host!r} ({error.strerror}); allowed: an address of this machine"
        if isinstance(error, PermissionError):
            msg = f"port: got {port}, which this user may not listen on; allowed: 1024 to 65535"
        raise ConfigError(msg) from None


class _Server(ThreadingHTTPServer):
    """A thread for each connection, of which there are not too many."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, handler: type[Handler]) -> None:
        known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self.address_family = known[0][0]
        self._free = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__((host, port), handler)

    def server_bind(self) -> None:
        """Bind without asking for the host's full name, which takes seconds without a network."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin to answer, unless too many are being answered."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, in a thread of its own."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away, and the rest to the log."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            logger.warning("A request failed.", exc_info=True)
