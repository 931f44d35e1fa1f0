"""Runs one test against both clients: the asyncio one behind a blocking face."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import psycopg

from pgdispatch import Actor, AsyncDispatch, Dispatch


class Awaited:
    """An AsyncDispatch whose methods are awaited on the spot, on a loop of its own."""

    def __init__(self, waiting: AsyncDispatch, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting = waiting
        self._loop = loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._waiting, name)
        return lambda *args, **given: self._loop.run_until_complete(method(*args, **given))

    @contextmanager
    def transaction(self) -> Iterator[Dispatch]:
        """Enter and leave the client's own context manager."""
        block = self._waiting.transaction()
        inner = self._loop.run_until_complete(block.__aenter__())
        try:
            yield cast(Dispatch, Awaited(inner, self._loop))
        except BaseException as exc:
            if not self._loop.run_until_complete(
                block.__aexit__(type(exc), exc, exc.__traceback__)
            ):
                raise
        else:
            self._loop.run_until_complete(block.__aexit__(None, None, None))


class Kind:
    """One of the two clients, and how to make it on a DSN or on a connection."""

    def __init__(self, name: str) -> None:
        self.name = name

    @contextmanager
    def on_dsn(self, dsn: str) -> Iterator[Dispatch]:
        """Give a client that opens its own pool."""
        if self.name == "blocking":
            with Dispatch(dsn) as dispatch:
                yield dispatch
            return
        with asyncio.Runner() as runner:
            waiting = AsyncDispatch(dsn)
            try:
                yield cast(Dispatch, Awaited(waiting, runner.get_loop()))
            finally:
                runner.run(waiting.close())

    @contextmanager
    def on_connection(self, dsn: str, **given: Any) -> Iterator[tuple[Dispatch, Any]]:
        """Give a client on a connection of the caller, and that connection."""
        if self.name == "blocking":
            with psycopg.connect(dsn, **given) as conn:
                yield Dispatch(conn), conn
            return
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            waiting = runner.run(psycopg.AsyncConnection.connect(dsn, **given))
            try:
                yield (
                    cast(Dispatch, Awaited(AsyncDispatch(waiting), loop)),
                    _Face(waiting, loop),
                )
            finally:
                runner.run(waiting.close())


class _Face:
    """The few methods of an asyncio connection that tests need, awaited on the spot."""

    def __init__(
        self, conn: psycopg.AsyncConnection[Any], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._conn = conn
        self._loop = loop
        self.info = conn.info

    def commit(self) -> None:
        self._loop.run_until_complete(self._conn.commit())

    def rollback(self) -> None:
        self._loop.run_until_complete(self._conn.rollback())

    def execute(self, query: str) -> None:
        self._loop.run_until_complete(self._conn.execute(query.encode()))


@dataclass(frozen=True)
class World:
    """A workspace with an owner, an agent, and a runtime that is alive."""

    workspace: uuid.UUID
    ana: uuid.UUID
    agent: uuid.UUID
    runtime: uuid.UUID

    @property
    def actor(self) -> Actor:
        """The owner, as the one who acts."""
        return Actor.user(self.ana)


def make_world(dispatch: Dispatch) -> World:
    """Make a workspace through the client under test."""
    world = World(*(uuid.uuid4() for _ in range(4)))
    dispatch.put_workspace(world.workspace, "Acme", "ACME")
    dispatch.put_member(world.workspace, world.ana, "Ana", "owner")
    dispatch.put_runtime(world.workspace, world.runtime, "daemon-1", "laptop")
    dispatch.put_agent(
        world.workspace, world.agent, "alpha", world.ana, world.runtime, max_concurrent_runs=3
    )
    dispatch.heartbeat(world.workspace, [world.runtime])
    return world
