"""The asyncio client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeAlias, TypeVar

import psycopg
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool

from pgdispatch import _calls, _connections
from pgdispatch._calls import Call, Rows
from pgdispatch._logging import watch
from pgdispatch.errors import translated

P = ParamSpec("P")
T = TypeVar("T")

_IDLE = psycopg.pq.TransactionStatus.IDLE

Connection: TypeAlias = psycopg.AsyncConnection[Any]
Pool: TypeAlias = AsyncConnectionPool[Any]


def _method(
    declared: Callable[P, Call[T]],
) -> Callable[Concatenate[AsyncDispatch, P], Coroutine[Any, Any, T]]:
    """Make the method that makes the declared call."""

    async def method(self: AsyncDispatch, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.call(declared(*args, **kwargs))

    _calls.dress(method, "AsyncDispatch", declared)
    return method


class AsyncDispatch:
    """Calls the dispatch functions on a connection, a pool or a DSN.

    On a connection the calls are part of its transaction, which the caller commits or rolls
    back; nothing is retried. On a pool, and on a DSN, for which a pool is opened at the first
    call, each call is a transaction of its own at READ COMMITTED and is made again after a
    serialization failure or a deadlock. Bad arguments raise `InvalidArgument` before any SQL
    is sent; errors of the functions raise the classes of `pgdispatch.errors`; every other
    database error comes through as psycopg raises it.
    """

    def __init__(self, target: Connection | Pool | str, *, pool_size: int = 10) -> None:
        """Take a connection, a pool, or a DSN in any form that libpq reads.

        An empty DSN means libpq's environment variables. `pool_size` is the largest number
        of connections of the pool that a DSN leads to.
        """
        self._conn: Connection | None = None
        self._pool: Pool | None = None
        self._dsn: str | None = None
        self._closed = False
        self._opening = asyncio.Lock()
        self._pool_size = pool_size
        if isinstance(target, psycopg.AsyncConnection):
            self._conn = target
        elif isinstance(target, AsyncConnectionPool):
            self._pool = target
        elif isinstance(target, str):
            self._dsn = _connections.checked(target)
        else:
            raise TypeError(
                "AsyncDispatch takes a psycopg.AsyncConnection, an AsyncConnectionPool of"
                f" psycopg_pool or a DSN, not {type(target).__name__}"
            )

    async def __aenter__(self) -> Self:
        """Give the client itself."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close what the client opened."""
        await self.close()

    async def close(self) -> None:
        """Close the pool that a DSN led to; a given connection or pool stays open."""
        if self._dsn is None:
            return
        async with self._opening:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncDispatch]:
        """Make several calls in one transaction, on the client that is given.

        The block's end commits, an exception rolls back, and nothing is retried. On a given
        connection the block is a savepoint of the caller's transaction, or, where the
        connection is in autocommit and has none, a transaction.
        """
        if self._conn is None:
            async with self._own_transaction() as conn:
                yield AsyncDispatch(conn)
        else:
            if not self._conn.autocommit and self._conn.info.transaction_status == _IDLE:
                # Begins the transaction, which the block would else begin and then commit.
                await self._conn.execute("select")
            async with self._conn.transaction():
                yield AsyncDispatch(self._conn)

    async def call(self, call: Call[T]) -> T:
        """Make a declared call; the methods do this."""
        if self._conn is not None:
            with translated():
                return call.read(await _fetch(self._conn, call))
        for pause in _connections.pauses():
            try:
                return await self._call_alone(call)
            except psycopg.Error as exc:
                if exc.sqlstate not in _connections.RETRIED:
                    raise
            await asyncio.sleep(pause)
        return await self._call_alone(call)

    async def _call_alone(self, call: Call[T]) -> T:
        with translated():
            async with self._own_transaction() as conn:
                return call.read(await _fetch(conn, call))

    @asynccontextmanager
    async def _own_transaction(self) -> AsyncIterator[Connection]:
        async with (await self._opened()).connection() as conn:
            level = conn.isolation_level
            if level is not _connections.LEVEL:
                await conn.set_isolation_level(_connections.LEVEL)
            try:
                async with conn.transaction():
                    yield conn
            finally:
                if conn.isolation_level is not level and not conn.closed:
                    await conn.set_isolation_level(level)

    async def _opened(self) -> Pool:
        async with self._opening:
            if self._closed:
                raise psycopg.InterfaceError("the client is closed")
            if self._pool is None:
                self._pool = await self._open(self._dsn or "")
            return self._pool

    async def _open(self, dsn: str) -> Pool:
        # A pool reports a server that it cannot reach late and without the reason.
        conn = await psycopg.AsyncConnection.connect(_connections.probe(dsn))
        await conn.close()
        pool: Pool = AsyncConnectionPool(
            dsn,
            min_size=1,
            max_size=self._pool_size,
            name="pgdispatch",
            kwargs=_connections.OPTIONS,
            configure=_configure,
            open=False,
        )
        await pool.open()
        return pool

    # Directory
    put_workspace = _method(_calls.put_workspace)
    delete_workspace = _method(_calls.delete_workspace)
    put_member = _method(_calls.put_member)
    remove_member = _method(_calls.remove_member)
    put_team = _method(_calls.put_team)
    put_team_member = _method(_calls.put_team_member)
    remove_team_member = _method(_calls.remove_team_member)
    put_runtime = _method(_calls.put_runtime)
    put_agent = _method(_calls.put_agent)
    set_agent_status = _method(_calls.set_agent_status)
    bind_agent = _method(_calls.bind_agent)
    archive_agent = _method(_calls.archive_agent)
    grant_invoke = _method(_calls.grant_invoke)
    revoke_invoke = _method(_calls.revoke_invoke)
    put_squad = _method(_calls.put_squad)
    archive_squad = _method(_calls.archive_squad)
    heartbeat = _method(_calls.heartbeat)
    set_runtime_offline = _method(_calls.set_runtime_offline)
    can_invoke_agent = _method(_calls.can_invoke_agent)

    # Issues
    create_issue = _method(_calls.create_issue)
    update_issue = _method(_calls.update_issue)
    update_issues = _method(_calls.update_issues)
    delete_issue = _method(_calls.delete_issue)
    add_comment = _method(_calls.add_comment)
    edit_comment = _method(_calls.edit_comment)
    delete_comment = _method(_calls.delete_comment)
    preview_create = _method(_calls.preview_create)
    preview_update = _method(_calls.preview_update)
    resolve_issue = _method(_calls.resolve_issue)

    # Wakes
    queue_wake = _method(_calls.queue_wake)
    queue_wakes = _method(_calls.queue_wakes)
    read_payload = _method(_calls.read_payload)

    # Claim and lifecycle
    claim_run = _method(_calls.claim_run)
    claim_runs = _method(_calls.claim_runs)
    start_run = _method(_calls.start_run)
    wait_run = _method(_calls.wait_run)
    extend_lease = _method(_calls.extend_lease)
    defer_run = _method(_calls.defer_run)
    complete_run = _method(_calls.complete_run)
    fail_run = _method(_calls.fail_run)
    requeue_run = _method(_calls.requeue_run)
    cancel_run = _method(_calls.cancel_run)
    start_runs = _method(_calls.start_runs)
    complete_runs = _method(_calls.complete_runs)
    fail_runs = _method(_calls.fail_runs)

    # Recovery
    reclaim_runs = _method(_calls.reclaim_runs)
    promote_deferred = _method(_calls.promote_deferred)
    recover_runtime = _method(_calls.recover_runtime)
    rerun = _method(_calls.rerun)
    sweep = _method(_calls.sweep)
    tick = _method(_calls.tick)

    # Pause
    pause_workspace = _method(_calls.pause_workspace)
    resume_workspace = _method(_calls.resume_workspace)

    # Reading
    explain_issue = _method(_calls.explain_issue)
    queue_depth = _method(_calls.queue_depth)
    gate_counters = _method(_calls.gate_counters)
    clock = _method(_calls.clock)
    allowance_limit = _method(_calls.allowance_limit)
    allowance_window = _method(_calls.allowance_window)
    batch_limit = _method(_calls.batch_limit)
    claim_batch_limit = _method(_calls.claim_batch_limit)
    claim_recovery_window = _method(_calls.claim_recovery_window)
    coalesce_window = _method(_calls.coalesce_window)
    dispatch_timeout = _method(_calls.dispatch_timeout)
    document_limit = _method(_calls.document_limit)
    duplicate_window = _method(_calls.duplicate_window)
    error_limit = _method(_calls.error_limit)
    escalation_delay = _method(_calls.escalation_delay)
    gate_event_retention = _method(_calls.gate_event_retention)
    key_limit = _method(_calls.key_limit)
    max_delay = _method(_calls.max_delay)
    max_lease = _method(_calls.max_lease)
    name_limit = _method(_calls.name_limit)
    occurrence_lateness = _method(_calls.occurrence_lateness)
    preview_limit = _method(_calls.preview_limit)
    prepare_lease = _method(_calls.prepare_lease)
    queued_ttl = _method(_calls.queued_ttl)
    reason_limit = _method(_calls.reason_limit)
    reconnect_grace = _method(_calls.reconnect_grace)
    run_retention = _method(_calls.run_retention)
    running_timeout = _method(_calls.running_timeout)
    runtime_freshness = _method(_calls.runtime_freshness)
    trigger_budget = _method(_calls.trigger_budget)
    wake_channel = _method(_calls.wake_channel)


async def _configure(conn: Connection) -> None:
    await conn.set_isolation_level(_connections.LEVEL)


async def _fetch(conn: Connection, call: Call[Any]) -> Rows:
    watch(conn)
    # A cursor of our own kind: the caller's may read other placeholders or build other rows.
    # Binary, since the text of times and intervals follows settings of the session.
    async with psycopg.AsyncCursor(conn, row_factory=tuple_row) as cur:
        await cur.execute(call.sql.encode(), call.args, binary=True)
        return await cur.fetchall()
