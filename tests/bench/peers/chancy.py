"""chancy: its worker with the asyncio executor, so many jobs at once, asking eagerly."""

from __future__ import annotations

import time
from typing import ClassVar

from chancy import Chancy, Queue, Worker, job

from tests.bench.peers import Hit
from tests.bench.server import PAYLOAD

_hits: list[Hit] = []


@job(queue="bench")  # type: ignore[untyped-decorator]
async def work(*, text: str) -> None:
    """Count, in the process that works."""
    if text:
        _hits[0]()


class Peer:
    """Notes completions once a second."""

    remaining: ClassVar = "select count(*) from chancy_jobs as j where j.state <> 'succeeded'"

    async def install(self, url: str) -> None:
        """Make the schema."""
        async with Chancy(url) as chancy:
            await chancy.migrate()

    async def put(self, url: str, count: int, size: int) -> float:
        """Enqueue jobs, alone or in batches."""
        async with Chancy(url) as chancy:
            made = work.job.with_kwargs(**PAYLOAD)
            began = time.perf_counter()
            if size == 1:
                for _ in range(count):
                    await chancy.push(made)
            else:
                async for _ in chancy.push_many([made] * count, batch_size=size):
                    pass
            return time.perf_counter() - began

    async def work(self, url: str, size: int, hit: Hit) -> None:
        """Work until cancelled."""
        _hits[:] = [hit]
        async with Chancy(url) as chancy:
            queue = Queue(
                "bench",
                concurrency=size,
                executor=Chancy.Executor.Async,
                polling_interval=1,
                eager_polling=True,
            )
            await chancy.declare(queue, upsert=True)
            async with Worker(chancy, register_signal_handlers=False) as worker:
                await worker.wait_for_shutdown()
