"""One process of a peer: `python -m tests.bench.peers NAME WHAT URL COUNT SIZE`."""

from __future__ import annotations

import asyncio
import logging
import sys

from tests.bench.peers import perform


async def main() -> None:
    """Do it and tell the seconds, before anything that was started is ended."""
    name, what, url, count, size = sys.argv[1:]
    logging.disable(logging.WARNING)
    print(await perform(name, what, url, int(count), int(size)), flush=True)


asyncio.run(main())
