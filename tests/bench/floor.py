"""The bare floor: the smallest queue that is honest, written by hand, without any rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, LiteralString

import psycopg

Connection = psycopg.Connection[Any]

SCHEMA: LiteralString = """
create table public.job (
    id bigint generated always as identity primary key,
    status smallint not null default 0,
    payload jsonb not null
);
create index job_waiting on public.job (id) where status = 0;
"""

PUT: LiteralString = "insert into public.job (payload) values (%s) returning id"

PUT_MANY: LiteralString = (
    "insert into public.job (payload) select unnest(%s::jsonb[]) returning id"
)

TAKE: LiteralString = """
update public.job
set status = 1
where id = any(array(
    select j.id from public.job as j
    where j.status = 0
    order by j.id
    limit %s
    for update skip locked
))
returning id, payload
"""

END: LiteralString = "update public.job set status = 2 where id = any(%s)"

LOAD: LiteralString = "insert into public.job (payload) select %s from generate_series(1, %s)"


def put_one_by_one(conn: Connection, count: int, payload: str) -> None:
    """Insert jobs, each in a transaction of its own."""
    for _ in range(count):
        conn.execute(PUT, [payload]).fetchone()


def put_in_bulk(conn: Connection, count: int, payload: str, *, size: int = 1000) -> None:
    """Insert jobs, so many with one statement."""
    for at in range(0, count, size):
        many = [payload] * min(size, count - at)
        conn.execute(PUT_MANY, [many]).fetchall()


def load(conn: Connection, count: int, payload: str) -> None:
    """Make jobs that wait."""
    conn.execute(LOAD, [payload, count])


def drain(conn: Connection, size: int, done: Callable[[int], None]) -> None:
    """Claim and complete until nothing waits: two transactions a batch."""
    while taken := conn.execute(TAKE, [size]).fetchall():
        conn.execute(END, [[row[0] for row in taken]])
        done(len(taken))


def completed(conn: Connection) -> int:
    """Count what is done."""
    row = conn.execute("select count(*) from public.job as j where j.status = 2").fetchone()
    assert row is not None
    return int(row[0])
