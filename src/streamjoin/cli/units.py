"""Numbers as a reader wants them: times, sizes, shares."""


def clock(seconds: float) -> str:
    """Write a length of time as on a clock.

    Examples
    --------
    >>> clock(75.2), clock(3725)
    ('1:15', '1:02:05')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def rows_out(n: int, alone: int) -> str:
    """Write a number of results, and how many of them have no partner where some have none.

    Examples
    --------
    >>> rows_out(1200, 0), rows_out(1200, 30)
    ('1,200', '1,200 (30 alone)')
    """
    return f"{n:,} ({alone:,} alone)" if alone else f"{n:,}"
