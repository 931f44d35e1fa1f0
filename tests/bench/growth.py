"""How what one run costs grows with what waits, and with what has ended."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from pgdispatch import Dispatch
from tests.bench import fill, floor
from tests.bench.floor import Connection
from tests.bench.ours import World
from tests.bench.rows import Row
from tests.bench.server import Bench, counters, waiting

#: Runs that wait while history grows.
BACKLOG = 1000
#: Claims that go before those which are timed.
WARM = 20


class Growth:
    """Claims and completes beside ever more rows, in the same two databases.

    Each size is filled up to, then settled, and then measured in rounds, the floor and
    pgdispatch in turn. The session is the one that was there when the tables were empty, so
    whatever plans it keeps were made then.
    """

    def __init__(self, bench: Bench, what: str, sizes: tuple[int, ...], count: int) -> None:
        self._bench = bench
        self._is_history = what == "history"
        self._sizes = sizes
        self._count = count
        word = "ended" if self._is_history else "queued"
        self._times = [Row(f"claim + complete, {each:,} {word}", "", "ms") for each in sizes]
        self._pages = [Row(f"the same, buffers, {each:,} {word}", "", "") for each in sizes]
        span = f"{sizes[0]:,} to {sizes[-1]:,} {word}"
        self._growth = [
            Row(f"growth of the time, {span}", "1.2 x, first 1.5", "x"),
            Row(f"growth of the buffers, {span}", "", "x"),
        ]

    @property
    def rows(self) -> list[Row]:
        """The lines that `measure` fills."""
        return [*self._times, *self._pages, *self._growth]

    def measure(self) -> None:
        """Measure every size."""
        world = self._bench.world
        with self._bench.database() as (_, base), self._bench.database() as (_, own):
            tasks = (
                (base, _floor_job, partial(fill.jobs, base), "public.job", "0"),
                (
                    own,
                    partial(_own_run, world=world),
                    partial(fill.runs, own, world),
                    "dispatch.run",
                    "'queued'",
                ),
            )
            for conn, step, put, _, _ in tasks:
                # Until the session has made every plan that it is going to keep.
                put(WARM)
                for _number in range(WARM):
                    assert step(conn)
            for place, size in enumerate(self._sizes):
                for conn, _, put, table, status in tasks:
                    if self._is_history:
                        ended = "2" if table == "public.job" else "'completed'"
                        put(max(0, size - waiting(conn, table, ended)), is_done=True)
                    self._top_up(conn, put, table, status, size)
                    self._bench.settle(conn)
                for _number in range(self._bench.sizes.rounds):
                    for conn, step, put, table, status in tasks:
                        self._top_up(conn, put, table, status, size)
                        self._take(conn, step, place)
        for row, found in zip(self._growth, (self._times, self._pages), strict=True):
            first, last = found[0], found[-1]
            row.floor = [statistics.median(last.floor) / statistics.median(first.floor)]
            row.ours = [statistics.median(last.ours) / statistics.median(first.ours)]

    def _top_up(
        self,
        conn: Connection,
        put: Callable[..., None],
        table: str,
        status: str,
        size: int,
    ) -> None:
        """Replace what was done, so that every round finds as much."""
        wanted = BACKLOG + WARM if self._is_history else size
        put(max(0, wanted - waiting(conn, table, status)))

    def _take(self, conn: Connection, step: Callable[[Connection], bool], place: int) -> None:
        for _ in range(WARM):
            assert step(conn)
        taken = []
        before = counters(conn)
        for _ in range(min(self._count, self._most(place))):
            began = time.perf_counter()
            assert step(conn)
            taken.append(1000 * (time.perf_counter() - began))
        after = counters(conn)
        is_floor = step is _floor_job
        for rows, value in (
            (self._times, statistics.median(taken)),
            (self._pages, (after["buffers"] - before["buffers"]) / len(taken)),
        ):
            (rows[place].floor if is_floor else rows[place].ours).append(value)

    def _most(self, place: int) -> int:
        """Keep at least half of what waits."""
        wanted = BACKLOG if self._is_history else self._sizes[place]
        return max(1, (wanted - WARM) // 2)


def _floor_job(conn: Connection) -> bool:
    """Claim a job of the floor and complete it, in two transactions."""
    with suppress(ValueError):
        ((job, _),) = conn.execute(floor.TAKE, [1]).fetchall()
        conn.execute(floor.END, [[job]])
        return True
    return False


def _own_run(conn: Connection, world: World) -> bool:
    """Claim a run and complete it, in two transactions."""
    dispatch = Dispatch(conn)
    claimed = dispatch.claim_runs(world.workspace, [world.runtime], start=True)
    return bool(claimed) and all(
        dispatch.complete_run(world.workspace, run.run_id, run.claim_no).applied
        for run in claimed
    )
