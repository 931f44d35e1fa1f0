"""What `pgdispatch tick` and `pgdispatch sweep` share: steps one by one, and how they end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from pgdispatch.cli._common import FAILED, answer
from pgdispatch.client import Dispatch
from pgdispatch.errors import DispatchError

#: The names of a tick's steps and of the sweeps, in the order in which they are done.
STEPS = ("replay", "promote", "sweep", "prune")
SWEEPS = ("runtimes", "dispatched", "running", "offline", "queued", "reconnect")


@contextmanager
def opened(dsn: str) -> Iterator[Dispatch]:
    """Open a client whose calls are transactions of their own, on a server that answers."""
    with Dispatch(dsn, pool_size=1) as dispatch:
        dispatch.clock()
        yield dispatch


def sweep_one(dispatch: Dispatch, most: int, name: str) -> int:
    """Make one sweep in a transaction of its own; give how many rows it handled."""
    return sum(row.runs for row in dispatch.sweep(most, name))


def in_turn(
    as_json: bool,
    names: Sequence[str],
    keys: tuple[str, str, str],
    do: Callable[[str], int],
) -> None:
    """Do what is named one after the other, report each, and end with 1 if one has failed.

    A step that fails takes nothing back of the others and stops none of them. `keys` are the
    words for the whole, for a step and for its rows.
    """
    whole, step, rows = keys
    done: list[dict[str, Any]] = []
    lines = []
    for name in names:
        try:
            count = do(name)
        except (psycopg.Error, DispatchError) as error:
            message = " ".join(str(error).split())
            done.append({step: name, rows: None, "error": message})
            lines.append(f"{name:<12}failed: {message}")
        else:
            done.append({step: name, rows: count})
            lines.append(f"{name:<12}{count}")
    answer(as_json, {whole: done}, "\n".join(lines))
    if any("error" in each for each in done):
        sys.exit(FAILED)
