"""A caller whose own objects shadow ours changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from tests.support.servers import Database


@pytest.fixture
def caller(db: Database) -> Iterator[psycopg.Connection[Any]]:
    """A connection of a service and worker whose search path begins with traps.

    Schema `trap` has a function, an operator and a type for names that our bodies use; the
    temporary schema has a table for each of ours.
    """
    role = f"dispatch_caller_{os.getpid()}"
    tables = [
        name
        for (name,) in db.execute(
            "select c.relname from pg_class as c"
            " where c.relnamespace = 'dispatch'::regnamespace and c.relkind in ('r', 'v')"
        )
    ]
    db.execute(f"create role {role} login")
    try:
        with db.connect() as admin:
            admin.execute(f"grant dispatch_service, dispatch_worker to {role}".encode())
            admin.execute(TRAPS)
        with db.connect(session=role) as connection:
            connection.execute("set search_path = pg_temp, trap, dispatch, pg_catalog")
            for name in tables:
                connection.execute(
                    sql.SQL("create temporary table {} (id uuid, workspace_id uuid)").format(
                        sql.Identifier(name)
                    )
                )
            yield connection
            for name in tables:
                (count,) = connection.execute(
                    sql.SQL("select count(*) from pg_temp.{}").format(sql.Identifier(name))
                ).fetchone() or (None,)
                assert count == 0, f"something was written to the caller's own {name}"
    finally:
        db.execute(f"drop owned by {role}")
        db.execute(f"drop role {role}")


TRAPS = b"""
create schema trap;
grant usage on schema trap to public;

create function trap.sprung() returns boolean language plpgsql as $$
begin
    raise exception 'a trap was sprung as %', current_user;
end;
$$;
create function trap.same(uuid, uuid) returns boolean language sql as 'select trap.sprung()';
create function trap.same(text, text) returns boolean language sql as 'select trap.sprung()';
create operator trap.= (leftarg = uuid, rightarg = uuid, function = trap.same);
create operator trap.= (leftarg = text, rightarg = text, function = trap.same);

create function trap.clock() returns timestamptz language plpgsql as $$
begin
    raise exception 'a trap was sprung as %', current_user;
end;
$$;
create function trap.clock_timestamp() returns timestamptz language sql
as 'select trap.clock()';
create function trap.now() returns timestamptz language sql as 'select trap.clock()';
create function trap.gen_random_uuid() returns uuid language plpgsql as $$
begin
    raise exception 'a trap was sprung as %', current_user;
end;
$$;
create function trap.jsonb_typeof(jsonb) returns text language plpgsql as $$
begin
    raise exception 'a trap was sprung as %', current_user;
end;
$$;
create function trap.length(text) returns integer language plpgsql as $$
begin
    raise exception 'a trap was sprung as %', current_user;
end;
$$;
create type trap.run_status as enum ('trapped');
create type trap.wake as (trapped integer);
"""


def one(connection: psycopg.Connection[Any], query: str, *arguments: object) -> Any:
    row = connection.execute(query.encode(), arguments).fetchone()
    assert row is not None
    return row[0]


def test_the_traps_spring_for_the_caller_itself(caller: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.RaiseException, match="a trap was sprung"):
        caller.execute("select clock()")
    with pytest.raises(psycopg.errors.RaiseException, match="a trap was sprung"):
        caller.execute("select uuid_in('00000000-0000-0000-0000-000000000001') = %s", [uuid4()])


def test_an_issue_becomes_a_run_and_ends_under_a_hostile_search_path(
    caller: psycopg.Connection[Any], db: Database
) -> None:
    ids = [uuid4() for _ in range(5)]
    workspace, person, runtime, agent, _ = ids
    caller.execute(
        "select dispatch.put_workspace(p_workspace_id => %s, p_name => 'w')", [workspace]
    )
    caller.execute(
        "select dispatch.put_member(p_workspace_id => %s, p_user_id => %s, p_name => 'm')",
        [workspace, person],
    )
    caller.execute(
        "select dispatch.put_runtime("
        "p_workspace_id => %s, p_runtime_id => %s, p_daemon_id => 'd')",
        [workspace, runtime],
    )
    caller.execute("select dispatch.heartbeat(%s, %s)", [workspace, [runtime]])
    caller.execute(
        "select dispatch.put_agent(p_workspace_id => %s, p_agent_id => %s, p_name => 'a',"
        " p_owner_id => %s, p_runtime_id => %s)",
        [workspace, agent, person, runtime],
    )
    run: UUID = one(
        caller,
        "select w.run_id from dispatch.create_issue(p_workspace_id => %s, p_title => 't',"
        " p_actor_type => 'user', p_actor_id => %s,"
        " p_assignee_type => 'agent', p_assignee_id => %s) as w",
        workspace,
        person,
        agent,
    )
    caller.execute(
        "select from dispatch.queue_wakes(%s, %s)",
        [workspace, f'[{{"agent_id": "{agent}", "reason": "poke"}}]'],
    )
    claimed, claim_no = caller.execute(
        "select c.run_id, c.claim_no from dispatch.claim_runs(%s, %s) as c",
        [workspace, [runtime]],
    ).fetchone() or (None, None)
    assert claimed == run
    for query in (
        "select t.applied from dispatch.start_run(%s, %s, %s) as t",
        "select t.applied from dispatch.complete_run(%s, %s, %s, '{\"done\": true}') as t",
    ):
        assert one(caller, query, workspace, run, claim_no) is True
    assert db.value("select r.status::text from dispatch.run as r where r.id = %s", [run]) == (
        "completed"
    )
