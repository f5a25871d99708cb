"""Answers requests: the page's own files from a fixed list, what is known as JSON, and news."""

import json
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib import resources
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from streamjoin.dashboard.addresses import is_allowed
from streamjoin.dashboard.store import Store

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
HEARTBEAT: Final = 10.0
PATIENCE: Final = 20.0
"""Seconds after which a client that takes nothing any more is given up."""


class Handler(BaseHTTPRequestHandler):
    """One connection; nothing in an address ever becomes the path of a file."""

    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
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
        elif path == "/drawing.svg":
            self._drawing(self.store.drawing(query))
        elif path == "/news":
            self._news(query, self.headers.get("Last-Event-ID") or names.get("after", ""))
        else:
            self._json(None)

    def _json(self, values: Any) -> None:
        if values is None:
            self._answer(HTTPStatus.NOT_FOUND, "There is no such page or query.")
            return
        text = json.dumps(values, separators=(",", ":"), allow_nan=False)
        self._send(text.encode(), "application/json")

    def _drawing(self, drawing: str) -> None:
        if not drawing:
            self._json(None)
            return
        self._send(drawing.encode("utf-8", errors="replace"), "image/svg+xml", DRAWING)

    def _answer(self, status: HTTPStatus, text: str) -> None:
        self._send(text.encode(), "text/plain; charset=utf-8", status=status)

    def _send(
        self,
        content: bytes,
        kind: str,
        headers: Mapping[str, str] = HEADERS,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> None:
        self._begin(status, {**HEADERS, **headers, "Content-Type": kind}, len(content))
        if self.command != "HEAD":
            self.wfile.write(content)

    def _begin(self, status: HTTPStatus, headers: Mapping[str, str], length: int | None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _news(self, query: str, mark: str) -> None:
        """News as server-sent events, until the client is gone, too slow or too far behind."""
        self.close_connection = True
        self._begin(HTTPStatus.OK, {**HEADERS, "Content-Type": "text/event-stream"}, None)
        if self.command == "HEAD":
            return
        self.wfile.write(b"retry: 1000\n\n")
        feed = self.store.feed
        while not feed.is_closed:
            found = feed.after(mark, query)
            if found is None or (query and not self.store.is_open(query)):
                self.wfile.write(b"event: reload\ndata: {}\n\n")
                return
            news, number = found
            for one in news:
                head = f"id: {feed.mark(one.number)}\nevent: {one.kind}\n"
                self.wfile.write(f"{head}data: {one.text}\n\n".encode())
            mark = feed.mark(number)
            if not feed.wait(number, HEARTBEAT):
                self.wfile.write(b": still here\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal belongs to the query."""


@lru_cache
def _asset(name: str) -> bytes:
    return (resources.files("streamjoin.dashboard") / "static" / name).read_bytes()
