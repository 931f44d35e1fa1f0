"""pgqueuer: its manager on one asyncpg connection, with batches of so many jobs."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import asyncpg
import pgqueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from tests.bench.peers import Hit
from tests.bench.server import PAYLOAD_TEXT

PAYLOAD = PAYLOAD_TEXT.encode()


async def _driver(url: str) -> Any:
    return AsyncpgDriver(await asyncpg.connect(dsn=url))


class Peer:
    """Deletes what is done and keeps a log of it."""

    remaining: ClassVar = "select count(*) from pgqueuer"

    async def install(self, url: str) -> None:
        """Make the schema."""
        await Queries(await _driver(url)).install()

    async def put(self, url: str, count: int, size: int) -> float:
        """Enqueue jobs, alone or in lists."""
        queries = Queries(await _driver(url))
        began = time.perf_counter()
        for at in range(0, count, size):
            many = min(size, count - at)
            if size == 1:
                await queries.enqueue("work", PAYLOAD, 0)
            else:
                await queries.enqueue(["work"] * many, [PAYLOAD] * many, [0] * many)
        return time.perf_counter() - began

    async def work(self, url: str, size: int, hit: Hit) -> None:
        """Work until cancelled."""

        async def work(_: Any) -> None:
            hit()

        manager = pgqueuer.PgQueuer(await _driver(url))
        manager.entrypoint("work")(work)
        await manager.run(batch_size=size)
