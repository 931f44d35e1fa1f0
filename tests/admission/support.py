"""What the tests of the gates share: assignments, counters, and the notices of a call."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.concurrency.support import Connection, Fleet, Row, rows

#: What replaces a seam so that its read fails.
SEAMS = {
    "_allowance_count": "(p_workspace_id uuid, p_task_id text, p_at timestamptz)"
    " returns bigint",
    "_find_duplicate": "(p_workspace_id uuid, p_idempotency_key text, p_at timestamptz)"
    " returns uuid",
    "_workspace_is_paused": "(p_workspace_id uuid) returns boolean",
}


def assignment(task: uuid.UUID | str, actor_type: str | None = "agent", **more: Any) -> Row:
    """Make the payload of an assignment by an actor of a type."""
    payload = {"task_id": str(task), "actor_type": actor_type, **more}
    return {name: value for name, value in payload.items() if value is not None}


def assign(
    fleet: Fleet,
    connection: Connection,
    task: uuid.UUID,
    agent: uuid.UUID,
    actor_type: str | None = "agent",
    **given: Any,
) -> Row:
    """Wake an agent for an assignment of an issue; it may merge."""
    given = {"payload": assignment(task, actor_type), "coalesce": True, **given}
    return fleet.wake(connection, agent, reason="task_assigned", **given)


def observed(fleet: Fleet, connection: Connection, task: uuid.UUID) -> int:
    """Read the count that the allowance of an issue sees."""
    found: int = rows(
        connection,
        "select dispatch._allowance_count(%s, %s, dispatch.clock()) as n",
        [fleet.workspace, str(task)],
    )[0]["n"]
    return found


def counters(connection: Connection) -> dict[str, int]:
    """Read the counters that moved."""
    return {
        row["reason"]: row["value"]
        for row in rows(connection, "select g.reason, g.value from dispatch.gate_counters as g")
        if row["value"]
    }


def break_seam(connection: Connection, name: str, code: str = "58030") -> None:
    """Replace a seam by a function that raises."""
    connection.execute(
        f"""
        create or replace function dispatch.{name}{SEAMS[name]}
        language plpgsql stable set search_path = pg_catalog, pg_temp
        as $$ begin raise exception using errcode = '{code}', message = 'broken read'; end $$
        """.encode()
    )


Notice = tuple[str, str | None, Any]


@contextmanager
def notices(connection: Connection) -> Iterator[list[Notice]]:
    """Collect severity, message and decoded DETAIL of what the server reports meanwhile."""
    seen: list[Notice] = []

    def note(diag: psycopg.errors.Diagnostic) -> None:
        detail = diag.message_detail
        seen.append(
            (
                str(diag.severity_nonlocalized),
                diag.message_primary,
                json.loads(detail) if detail else None,
            )
        )

    connection.add_notice_handler(note)
    try:
        yield seen
    finally:
        connection.remove_notice_handler(note)
