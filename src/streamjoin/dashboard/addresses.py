"""Which addresses the page may be asked for by: against names that are made to point here."""

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit


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
