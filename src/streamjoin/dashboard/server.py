"""Serve the live page from a thread of this process."""

import errno
import logging
import socket
import sys
import threading
from collections.abc import Sequence
from http.server import ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Final

from streamjoin.dashboard.handler import Handler
from streamjoin.dashboard.store import Store
from streamjoin.errors import ConfigError

logger = logging.getLogger(__name__)

PORT: Final = 8765
TRIES: Final = 20
MOST_CLIENTS: Final = 64
EVERYWHERE: Final = ("0.0.0.0", "::")


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

    def __enter__(self) -> "Dashboard":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Begin to serve."""
        self._store.start()
        self._thread.start()

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
    dashboard = Dashboard(_listen(host, port, handler), store, host)
    dashboard.start()
    return dashboard


def _listen(host: str, port: int | None, handler: type[Handler]) -> "_Server":
    if port is not None and not 0 <= port <= 65535:
        msg = f"port: got {port}; allowed: 0 to 65535"
        raise ConfigError(msg)
    tried = range(PORT, PORT + TRIES) if port is None else range(port, port + 1)
    for one in tried:
        server = _server(host, one, handler)
        if server is not None:
            return server
    taken = f"{tried[0]}" if len(tried) == 1 else f"{tried[0]} to {tried[-1]}"
    msg = f"port: got {taken}, in use on {host}; allowed: one that is free, or 0 for any"
    raise ConfigError(msg)


def _server(host: str, port: int, handler: type[Handler]) -> "_Server | None":
    """The server; None if somebody else has the port."""
    try:
        return _Server(host, port, handler)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return None
        raise ConfigError(_refusal(host, port, error)) from None


def _refusal(host: str, port: int, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"port: got {port}, which this user may not listen on; allowed: 1024 to 65535"
    return f"host: got {host!r} ({error.strerror}); allowed: an address of this machine"


class _Server(ThreadingHTTPServer):
    """A thread for each connection, of which there are not too many."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, handler: type[Handler]) -> None:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self.address_family = found[0][0]
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
