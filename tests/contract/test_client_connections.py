from __future__ import annotations

import asyncio
import datetime as dt
import gc
import logging
import uuid
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from pgdispatch import AsyncDispatch, Dispatch, InvalidArgument, _logging
from tests.support.clients import Kind, make_world
from tests.support.servers import Database

IDLE = psycopg.pq.TransactionStatus.IDLE
INTRANS = psycopg.pq.TransactionStatus.INTRANS


@pytest.fixture(params=["blocking", "asyncio"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return Kind(request.param)


@pytest.fixture
def workspace() -> uuid.UUID:
    return uuid.uuid4()


def stored(db: Database) -> list[str]:
    return [name for (name,) in db.execute("select w.name from dispatch.workspace as w")]


def replace_clock(db: Database, body: str) -> None:
    """Put another body into the function that every client may call."""
    db.execute(
        "create or replace function dispatch.clock() returns timestamptz language plpgsql"
        f" volatile as $$ begin {body} return clock_timestamp(); end $$"
    )


def fail_first(db: Database, times: int, sqlstate: str) -> None:
    """Make the first calls of clock() fail; a sequence counts, since it is not rolled back."""
    db.execute("create sequence public.attempt")
    db.execute("grant usage on sequence public.attempt to public")
    replace_clock(
        db,
        f"if nextval('public.attempt') <= {times} then"
        f" raise exception using errcode = '{sqlstate}', message = 'try again'; end if;",
    )


def attempts(db: Database) -> int:
    return int(db.value("select last_value from public.attempt"))


# In the caller's transaction


def test_the_caller_commits(kind: Kind, db: Database, workspace: uuid.UUID) -> None:
    with kind.on_connection(db.dsn) as (dispatch, conn):
        dispatch.put_workspace(workspace, "Acme")
        assert conn.info.transaction_status == INTRANS
        assert stored(db) == []
        conn.rollback()
        dispatch.put_workspace(workspace, "Acme")
        conn.commit()
        assert stored(db) == ["Acme"]
        dispatch.close()
        dispatch.put_workspace(workspace, "Bolt")
        assert conn.info.transaction_status == INTRANS
        conn.rollback()
    assert stored(db) == ["Acme"]


def test_on_autocommit_each_call_stands_alone(
    kind: Kind, db: Database, workspace: uuid.UUID
) -> None:
    with kind.on_connection(db.dsn, autocommit=True) as (dispatch, conn):
        dispatch.put_workspace(workspace, "Acme")
        assert conn.info.transaction_status == IDLE
        assert stored(db) == ["Acme"]


def test_an_argument_error_leaves_the_caller_s_transaction_usable(
    kind: Kind, db: Database, workspace: uuid.UUID
) -> None:
    with kind.on_connection(db.dsn) as (dispatch, conn):
        dispatch.put_workspace(workspace, "Acme")
        with pytest.raises(InvalidArgument) as caught:
            dispatch.put_team("nonsense", uuid.uuid4(), "T")
        assert caught.value.column == "p_workspace_id"
        assert caught.value.__cause__ is None
        conn.commit()
    assert stored(db) == ["Acme"]


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
@pytest.mark.parametrize("autocommit", [False, True])
def test_nothing_is_retried_on_the_caller_s_connection(
    kind: Kind, db: Database, sqlstate: str, autocommit: bool
) -> None:
    fail_first(db, 1, sqlstate)
    with kind.on_connection(db.dsn, autocommit=autocommit) as (dispatch, _):
        with pytest.raises(psycopg.OperationalError) as caught:
            dispatch.clock()
        assert caught.value.sqlstate == sqlstate
    assert attempts(db) == 1


def test_the_caller_s_isolation_is_left_alone(kind: Kind, db: Database) -> None:
    with kind.on_connection(db.dsn) as (dispatch, conn):
        world = make_world(dispatch)
        conn.commit()
        conn.execute("set transaction isolation level repeatable read")
        assert dispatch.queue_depth(world.workspace) == []
        with pytest.raises(InvalidArgument) as caught:
            dispatch.claim_run(world.workspace, world.agent)
        assert caught.value.column == "transaction_isolation"
        conn.rollback()


def test_a_block_on_the_caller_s_connection_is_a_savepoint(
    kind: Kind, db: Database, workspace: uuid.UUID
) -> None:
    other = uuid.uuid4()
    with kind.on_connection(db.dsn) as (dispatch, conn):
        with dispatch.transaction() as inner:
            inner.put_workspace(workspace, "Acme")
        assert conn.info.transaction_status == INTRANS
        assert stored(db) == []
        with pytest.raises(KeyError), dispatch.transaction() as inner:
            inner.put_workspace(other, "Bolt")
            raise KeyError
        conn.commit()
        assert stored(db) == ["Acme"]
        with dispatch.transaction() as inner:
            inner.put_workspace(other, "Bolt")
        conn.rollback()
    assert stored(db) == ["Acme"]


def test_a_block_on_an_autocommit_connection_is_a_transaction(
    kind: Kind, db: Database, workspace: uuid.UUID
) -> None:
    with kind.on_connection(db.dsn, autocommit=True) as (dispatch, conn):
        with dispatch.transaction() as inner:
            inner.put_workspace(workspace, "Acme")
            assert stored(db) == []
        assert conn.info.transaction_status == IDLE
    assert stored(db) == ["Acme"]


def test_the_caller_s_factories_and_settings_do_not_matter(kind: Kind, db: Database) -> None:
    odd = (
        "-c datestyle=SQL,DMY -c intervalstyle=sql_standard -c timezone=Asia/Kathmandu"
        " -c bytea_output=escape -c search_path=pg_catalog"
    )
    with kind.on_connection(db.dsn, row_factory=dict_row, options=odd) as (dispatch, _):
        world = make_world(dispatch)
        assert dispatch.duplicate_window() == dt.timedelta(hours=24)
        assert abs(dispatch.clock() - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)
        run_id = dispatch.queue_wake(world.workspace, world.agent, "note", {"a": 1}).run_id
        run = dispatch.claim_run(world.workspace, world.agent)
        assert run is not None
        assert (run.run_id, run.payload) == (run_id, {"a": 1})
        begun = dispatch.start_run(
            world.workspace, run.run_id, 1, dt.timedelta(hours=23, microseconds=5)
        )
        assert begun.applied


@pytest.mark.parametrize("factory", [psycopg.ClientCursor, psycopg.RawCursor])
def test_the_caller_s_cursor_factory_does_not_matter(
    db: Database, factory: type[psycopg.Cursor[Any]]
) -> None:
    with psycopg.connect(db.dsn, cursor_factory=factory) as conn:
        assert Dispatch(conn).heartbeat(make_world(Dispatch(conn)).workspace, []) == 0


def test_calls_work_inside_the_caller_s_pipeline(db: Database, workspace: uuid.UUID) -> None:
    with db.connect(autocommit=False) as conn:
        with conn.pipeline():
            Dispatch(conn).put_workspace(workspace, "Acme")
            assert Dispatch(conn).queue_depth(workspace) == []
        conn.commit()
    assert stored(db) == ["Acme"]


# In transactions of its own


def test_each_call_is_a_transaction(kind: Kind, db: Database, workspace: uuid.UUID) -> None:
    with kind.on_dsn(db.dsn) as dispatch:
        dispatch.put_workspace(workspace, "Acme")
        assert stored(db) == ["Acme"]
        with dispatch.transaction() as inner:
            inner.put_workspace(workspace, "Bolt")
            inner.put_workspace(uuid.uuid4(), "Cube")
            assert stored(db) == ["Acme"]
        assert sorted(stored(db)) == ["Bolt", "Cube"]
        with pytest.raises(KeyError), dispatch.transaction() as inner:
            inner.put_workspace(workspace, "Dome")
            raise KeyError
        assert sorted(stored(db)) == ["Bolt", "Cube"]


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_a_call_that_met_another_is_made_again(kind: Kind, db: Database, sqlstate: str) -> None:
    fail_first(db, 2, sqlstate)
    with kind.on_dsn(db.dsn) as dispatch:
        assert dispatch.clock() is not None
    assert attempts(db) == 3


def test_retries_end_with_the_error_itself(
    kind: Kind, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgdispatch._connections._FIRST_PAUSE", 0.001)
    fail_first(db, 1000, "40001")
    with kind.on_dsn(db.dsn) as dispatch, pytest.raises(psycopg.errors.SerializationFailure):
        dispatch.clock()
    assert attempts(db) == 6


@pytest.mark.parametrize("sqlstate", ["PD400", "PD409", "23505", "55P03", "57014"])
def test_other_errors_are_raised_at_once(kind: Kind, db: Database, sqlstate: str) -> None:
    fail_first(db, 1, sqlstate)
    with kind.on_dsn(db.dsn) as dispatch, pytest.raises(Exception) as caught:
        dispatch.clock()
    assert getattr(caught.value, "sqlstate", None) == sqlstate
    assert attempts(db) == 1


def test_a_block_is_not_retried(kind: Kind, db: Database) -> None:
    fail_first(db, 1, "40001")
    with (
        kind.on_dsn(db.dsn) as dispatch,
        pytest.raises(psycopg.errors.SerializationFailure),
        dispatch.transaction() as inner,
    ):
        inner.clock()
    assert attempts(db) == 1


def report_level(db: Database) -> None:
    replace_clock(
        db,
        "if current_setting('transaction_isolation') <> 'read committed' then"
        " raise exception 'too strict'; end if;",
    )
    db.execute(
        f"alter database \"{db.name}\" set default_transaction_isolation = 'serializable'"
    )


def test_own_transactions_are_read_committed(kind: Kind, db: Database) -> None:
    report_level(db)
    with kind.on_dsn(db.dsn) as dispatch:
        dispatch.clock()
        with dispatch.transaction() as inner:
            inner.clock()
    with (
        kind.on_connection(db.dsn) as (dispatch, _),
        pytest.raises(psycopg.errors.RaiseException, match="too strict"),
    ):
        dispatch.clock()


def strict(conn: psycopg.Connection[Any]) -> None:
    conn.isolation_level = psycopg.IsolationLevel.SERIALIZABLE


async def strict_async(conn: psycopg.AsyncConnection[Any]) -> None:
    await conn.set_isolation_level(psycopg.IsolationLevel.SERIALIZABLE)


@pytest.mark.parametrize("autocommit", [False, True])
def test_a_given_pool_is_used_and_left_as_it_was(db: Database, autocommit: bool) -> None:
    report_level(db)
    with ConnectionPool(
        db.dsn,
        min_size=1,
        max_size=1,
        configure=strict,
        kwargs={"autocommit": autocommit},
        open=True,
    ) as pool:
        with Dispatch(pool) as dispatch:
            dispatch.clock()
            with dispatch.transaction() as inner:
                inner.clock()
            with pytest.raises(InvalidArgument):
                dispatch.resolve_issue(uuid.uuid4(), "\x00")
            with pytest.raises(ZeroDivisionError), dispatch.transaction():
                raise ZeroDivisionError
        assert not pool.closed
        with pool.connection() as conn:
            assert conn.isolation_level is psycopg.IsolationLevel.SERIALIZABLE
            assert conn.info.transaction_status == IDLE


@pytest.mark.parametrize("autocommit", [False, True])
async def test_a_given_asyncio_pool_is_used_and_left_as_it_was(
    db: Database, autocommit: bool
) -> None:
    report_level(db)
    async with AsyncConnectionPool(
        db.dsn,
        min_size=1,
        max_size=1,
        configure=strict_async,
        kwargs={"autocommit": autocommit},
        open=False,
    ) as pool:
        async with AsyncDispatch(pool) as dispatch:
            await dispatch.clock()
            async with dispatch.transaction() as inner:
                await inner.clock()
        assert not pool.closed
        async with pool.connection() as conn:
            assert conn.isolation_level is psycopg.IsolationLevel.SERIALIZABLE


def test_a_client_closes_what_it_opened(db: Database) -> None:
    def connections() -> int:
        return int(
            db.value(
                "select count(*) from pg_stat_activity as a where a.datname = %s"
                " and a.application_name = 'client under test'",
                [db.name],
            )
        )

    dsn = psycopg.conninfo.make_conninfo(db.dsn, application_name="client under test")
    with Dispatch(dsn) as dispatch:
        assert connections() == 0
        dispatch.clock()
        assert connections() >= 1
        pool = dispatch._pool
    assert pool is not None
    assert pool.closed
    with pytest.raises(psycopg.InterfaceError):
        dispatch.clock()
    for _ in range(100):
        if connections() == 0:
            break
    else:
        pytest.fail("a connection was left open")


def test_own_connections_prepare_nothing(db: Database) -> None:
    with Dispatch(db.dsn, pool_size=1) as dispatch:
        for _ in range(10):
            dispatch.clock()
        with dispatch.transaction() as inner:
            conn = inner._conn
            assert conn is not None
            assert conn.execute("select count(*) from pg_prepared_statements").fetchone() == (
                0,
            )


def test_one_client_serves_many_threads(db: Database) -> None:
    with Dispatch(db.dsn, pool_size=4) as dispatch, ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: dispatch.allowance_limit(), range(64)))
    assert answers == [5] * 64


async def test_one_asyncio_client_serves_many_tasks(db: Database) -> None:
    async with AsyncDispatch(db.dsn, pool_size=4) as dispatch:
        answers = await asyncio.gather(*(dispatch.allowance_limit() for _ in range(64)))
    assert answers == [5] * 64


# Warnings


WARN = (
    "raise warning using message = 'something odd',"
    """ detail = '{"task_id": "t", "observed": 5}';"""
    " raise warning 'no detail'; raise notice using message = 'n', detail = '{}';"
)


def ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "pgdispatch"]


def test_warnings_become_records_once_for_each(
    kind: Kind, db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    replace_clock(db, WARN)
    with kind.on_dsn(db.dsn) as dispatch:
        dispatch.clock()
        dispatch.clock()
    with kind.on_connection(db.dsn) as (dispatch, _):
        dispatch.clock()
        dispatch.clock()
    found = ours(caplog)
    assert [record.getMessage() for record in found] == ["something odd"] * 4
    assert {record.levelno for record in found} == {logging.WARNING}
    assert vars(found[0])["detail"] == {"task_id": "t", "observed": 5}


def test_many_clients_on_one_connection_log_once(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    replace_clock(db, WARN)
    with db.connect() as conn:
        for _ in range(5):
            Dispatch(conn).clock()
        assert conn._notice_handlers.count(_logging.log_warning) == 1
    assert len(ours(caplog)) == 5


def test_a_connection_is_not_kept_alive(db: Database) -> None:
    conn = db.connect()
    Dispatch(conn).clock()
    conn.close()
    gone = weakref.ref(conn)
    del conn
    gc.collect()
    assert gone() is None


# Rights, and a database that is a release ahead


def test_rights_that_a_role_lacks_are_psycopg_s_error(
    db: Database, workspace: uuid.UUID
) -> None:
    with db.connect(role="dispatch_worker") as conn:
        dispatch = Dispatch(conn)
        assert dispatch.claim_runs(workspace, [uuid.uuid4()]) == []
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            dispatch.put_workspace(workspace, "Acme")
    with db.connect(role="dispatch_service") as conn:
        dispatch = Dispatch(conn)
        dispatch.put_workspace(workspace, "Acme")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            dispatch.claim_runs(workspace, [uuid.uuid4()])


def test_more_columns_and_new_labels_do_not_break_a_client(
    kind: Kind, db: Database, workspace: uuid.UUID
) -> None:
    db.execute("alter type dispatch.run_status add value 'parked'")
    db.execute("alter type dispatch.transition add attribute extra text")
    db.execute(
        """
        create or replace function dispatch.requeue_run(
            p_workspace_id uuid, p_run_id uuid, p_claim_no integer
        )
        returns dispatch.transition language sql as $$
        select row(true, p_run_id, 'parked', 2, null, null, null, 'x')::dispatch.transition
        $$
        """
    )
    with kind.on_dsn(db.dsn) as dispatch:
        answer = dispatch.requeue_run(workspace, workspace, 1)
    assert answer.applied
    assert answer.status == "parked"
    assert answer.status is not None
    assert not answer.status.known
