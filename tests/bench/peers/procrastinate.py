"""procrastinate: its async worker with so many jobs at once; what is done is kept."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import procrastinate

from tests.bench.peers import Hit
from tests.bench.server import PAYLOAD


def _app(url: str, hit: Hit | None = None, connections: int = 4) -> tuple[Any, Any]:
    app = procrastinate.App(
        connector=procrastinate.PsycopgConnector(conninfo=url, min_size=1, max_size=connections)
    )

    async def work(text: str) -> None:
        if hit is not None and text:
            hit()

    return app, app.task(name="work", queue="bench")(work)


class Peer:
    """Listens, keeps finished jobs, and tells of each change by a trigger."""

    remaining: ClassVar = (
        "select count(*) from procrastinate_jobs as j where j.status <> 'succeeded'"
    )

    async def install(self, url: str) -> None:
        """Make the schema."""
        app, _ = _app(url)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    async def put(self, url: str, count: int, size: int) -> float:
        """Enqueue jobs, alone or in batches."""
        app, work = _app(url)
        async with app.open_async():
            began = time.perf_counter()
            for at in range(0, count, size):
                if size == 1:
                    await work.defer_async(**PAYLOAD)
                else:
                    await work.batch_defer_async(*[PAYLOAD] * min(size, count - at))
            return time.perf_counter() - began

    async def work(self, url: str, size: int, hit: Hit) -> None:
        """Work until cancelled."""
        app, _ = _app(url, hit, connections=min(size, 10) + 3)
        async with app.open_async():
            await app.run_worker_async(
                queues=["bench"], concurrency=size, install_signal_handlers=False
            )
