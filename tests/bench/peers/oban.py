"""oban: one instance with one queue of so many jobs at once; what is done is kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from oban import Oban, worker
from oban.schema import install
from psycopg_pool import AsyncConnectionPool

from tests.bench.peers import Hit
from tests.bench.server import PAYLOAD

_hits: list[Hit] = []


class Work:
    """Counts, in the process that works."""

    async def process(self, job: Any) -> None:
        """Count."""
        if job.args["text"]:
            _hits[0]()


# Not as a decorator, which would hide from the checker that it adds to the class.
_Work: Any = worker(queue="bench")(Work)


@asynccontextmanager
async def _pool(url: str) -> AsyncIterator[Any]:
    async with AsyncConnectionPool(url, min_size=1, max_size=6, open=False) as pool:
        yield pool


class Peer:
    """Listens, and takes the lead among its like by itself."""

    remaining: ClassVar = "select count(*) from oban_jobs as j where j.state <> 'completed'"

    async def install(self, url: str) -> None:
        """Make the schema."""
        async with _pool(url) as pool:
            await install(pool)

    async def put(self, url: str, count: int, size: int) -> float:
        """Enqueue jobs, alone or in batches."""
        async with _pool(url) as pool:
            oban = Oban(pool=pool)
            began = time.perf_counter()
            for at in range(0, count, size):
                if size == 1:
                    await oban.enqueue(_Work.new(PAYLOAD))
                else:
                    many = min(size, count - at)
                    await oban.enqueue_many([_Work.new(PAYLOAD) for _ in range(many)])
            return time.perf_counter() - began

    async def work(self, url: str, size: int, hit: Hit) -> None:
        """Work until cancelled."""
        _hits[:] = [hit]
        async with _pool(url) as pool, Oban(pool=pool, queues={"bench": size}):
            await asyncio.Event().wait()
