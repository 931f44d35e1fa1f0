"""What both clients hold about connections of their own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

LEVEL = psycopg.IsolationLevel.READ_COMMITTED

# Statements prepared on the server are lost behind a pooler that shares connections.
OPTIONS: dict[str, Any] = {"prepare_threshold": None}

# A serialization failure and a deadlock: what the same call may get past when made again.
RETRIED = frozenset({"40001", "40P01"})

_PAUSE_COUNT = 5
_FIRST_PAUSE = 0.02
_PROBE_SECONDS = 10


def checked(dsn: str) -> str:
    """Give the DSN back, or let psycopg say why libpq cannot read it."""
    conninfo_to_dict(dsn)
    return dsn


def probe(dsn: str) -> str:
    """Bound the wait for a server that does not answer, unless the DSN does so itself."""
    if "connect_timeout" in conninfo_to_dict(dsn):
        return dsn
    return make_conninfo(dsn, connect_timeout=_PROBE_SECONDS)


def pauses() -> Iterator[float]:
    """Give the pauses between the attempts at one call, each about twice the last one.

    The jitter keeps two calls that failed because of each other from meeting again.
    """
    for doublings in range(_PAUSE_COUNT):
        yield _FIRST_PAUSE * 2**doublings * random.uniform(0.5, 1.0)  # noqa: S311
