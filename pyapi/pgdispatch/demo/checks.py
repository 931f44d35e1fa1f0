"""Ask the database what really happened, and whether that is what was promised."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row, tuple_row

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One promise, whether it was kept, and what was found."""

    promise: str
    holds: bool
    found: str


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """What became of an agent's runs; times in seconds."""

    agent_id: uuid.UUID
    runs: int
    completed: int
    failed: int
    wait_p50: float | None
    wait_p99: float | None
    run_p50: float | None
    run_p99: float | None
    most_at_once: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A run whose command failed."""

    issue_id: uuid.UUID | None
    agent_id: uuid.UUID
    error: str | None


# A run holds one of its agent's places from its claim to its end. Of an end and a claim at the
# same instant the end comes first: a place that becomes free is filled in the same transaction.
_FIGURES: LiteralString = """
with edge as (
    select r.agent_id, r.dispatched_at as at, 1 as step
    from dispatch.runs as r
    where r.workspace_id = %(workspace)s and r.dispatched_at is not null
    union all
    select r.agent_id, r.finished_at, -1
    from dispatch.runs as r
    where r.workspace_id = %(workspace)s
        and r.dispatched_at is not null
        and r.finished_at is not null
),
depth as (
    select
        e.agent_id,
        sum(e.step) over (
            partition by e.agent_id order by e.at, e.step rows unbounded preceding
        ) as at_once
    from edge as e
)
select
    r.agent_id,
    count(*) as runs,
    count(*) filter (where r.status = 'completed') as completed,
    count(*) filter (where r.status = 'failed') as failed,
    percentile_disc(0.5) within group (order by t.wait) as wait_p50,
    percentile_disc(0.99) within group (order by t.wait) as wait_p99,
    percentile_disc(0.5) within group (order by t.run) as run_p50,
    percentile_disc(0.99) within group (order by t.run) as run_p99,
    coalesce(
        (select max(d.at_once) from depth as d where d.agent_id = r.agent_id), 0
    )::integer as most_at_once
from dispatch.runs as r
cross join lateral (
    select
        extract(epoch from r.started_at - r.requested_at)::float8 as wait,
        extract(epoch from r.finished_at - r.started_at)::float8 as run
) as t
where r.workspace_id = %(workspace)s
group by r.agent_id
"""

_ISSUES: LiteralString = """
with asked as (
    select a.issue_id from unnest(%(issues)s::uuid[]) as a (issue_id)
),
seen as (
    select
        coalesce(a.issue_id, r.issue_id) as issue_id,
        a.issue_id is not null as is_asked,
        count(r.id) filter (where not r.is_lost) as runs,
        count(r.id) filter (where r.status = 'completed') as completed,
        count(r.id) filter (where r.status = 'failed' and not r.is_lost) as failed,
        count(r.id) filter (where r.is_lost) as lost
    from asked as a
    full join (
        select
            r.id,
            r.issue_id,
            r.status,
            r.failure_reason is not distinct from 'runtime_recovery' as is_lost
        from dispatch.runs as r
        where r.workspace_id = %(workspace)s
    ) as r on r.issue_id = a.issue_id
    group by 1, 2
)
select
    count(*) filter (where s.is_asked),
    count(*) filter (where s.is_asked and s.runs = 1 and s.completed = 1),
    count(*) filter (where s.is_asked and s.runs = 1 and s.failed = 1),
    coalesce(sum(s.lost), 0)::integer,
    coalesce(
        array_agg(s.issue_id order by s.issue_id)
        filter (where not s.is_asked or s.runs <> 1 or s.completed + s.failed <> 1),
        '{}'
    )
from seen as s
"""

_PAIRS: LiteralString = """
select r.issue_id
from dispatch.runs as r
inner join dispatch.runs as o
    on o.workspace_id = r.workspace_id
    and o.agent_id = r.agent_id
    and o.issue_id = r.issue_id
    and o.id > r.id
where r.workspace_id = %(workspace)s
    and r.dispatched_at < coalesce(o.finished_at, 'infinity')
    and o.dispatched_at < coalesce(r.finished_at, 'infinity')
order by r.issue_id
"""

_STARTED: LiteralString = """
select r.id, r.failure_reason is not distinct from 'runtime_recovery'
from dispatch.runs as r
where r.workspace_id = %(workspace)s and r.started_at is not null
"""

_FAILURES: LiteralString = """
select r.issue_id, r.agent_id, r.error
from dispatch.runs as r
where r.workspace_id = %(workspace)s
    and r.status = 'failed'
    and r.failure_reason <> 'runtime_recovery'
order by r.finished_at, r.id
"""


def figures(connection: psycopg.Connection[Any], workspace: uuid.UUID) -> list[AgentFigures]:
    """Sum up the runs of each agent."""
    with connection.cursor(row_factory=class_row(AgentFigures)) as cursor:
        return cursor.execute(_FIGURES, {"workspace": workspace}).fetchall()


def failures(connection: psycopg.Connection[Any], workspace: uuid.UUID) -> list[Failure]:
    """List the runs that failed, in the order of their ends."""
    with connection.cursor(row_factory=class_row(Failure)) as cursor:
        return cursor.execute(_FAILURES, {"workspace": workspace}).fetchall()


def check_all(
    connection: psycopg.Connection[Any],
    workspace: uuid.UUID,
    issues: Sequence[uuid.UUID],
    capacities: Mapping[uuid.UUID, tuple[str, int]],
    executed: Iterable[uuid.UUID],
) -> list[Check]:
    """Check every promise against the rows of `dispatch.runs`.

    `issues` are those that were assigned, `capacities` the name and capacity of each agent,
    `executed` the run of each execution, as the daemons counted them outside the database.
    """
    return [
        _check_issues(connection, workspace, issues),
        _check_executions(connection, workspace, executed),
        _check_capacities(connection, workspace, capacities),
        _check_pairs(connection, workspace),
    ]


def _check_issues(
    connection: psycopg.Connection[Any], workspace: uuid.UUID, issues: Sequence[uuid.UUID]
) -> Check:
    ((asked, completed, failed, lost, wrong),) = _rows(
        connection, _ISSUES, {"workspace": workspace, "issues": list(issues)}
    )
    found = f"{asked} issues: {completed} completed, {failed} failed"
    if lost:
        found += f", {lost} of them after a takeover"
    if wrong:
        found += f"; {len(wrong)} otherwise: {_some(wrong)}"
    holds = not wrong and asked == completed + failed
    return Check("every issue ran exactly once, to its end", holds, found)


def _check_executions(
    connection: psycopg.Connection[Any], workspace: uuid.UUID, executed: Iterable[uuid.UUID]
) -> Check:
    rows = _rows(connection, _STARTED, {"workspace": workspace})
    started = Counter(run for run, is_lost in rows if not is_lost)
    lost = {run for run, is_lost in rows if is_lost}
    # A daemon that was killed may have executed what it had in hand, at most once, or not.
    told = Counter(executed)
    counted = Counter({run: count for run, count in told.items() if run not in lost})
    twice = [run for run in lost if told[run] > 1]
    wrong = sorted([*((counted - started) + (started - counted)), *twice])
    found = f"{counted.total()} executions of {started.total()} started runs"
    if lost:
        found += f", beside {len(lost)} that were lost with their daemon"
    if wrong:
        found += f"; {len(wrong)} runs differ: {_some(wrong)}"
    return Check("every started run was executed exactly once", not wrong, found)


def _check_capacities(
    connection: psycopg.Connection[Any],
    workspace: uuid.UUID,
    capacities: Mapping[uuid.UUID, tuple[str, int]],
) -> Check:
    rows = figures(connection, workspace)
    most = {row.agent_id: row.most_at_once for row in rows}
    found = ", ".join(
        f"{name} {most.get(agent, 0)} of {capacity}"
        for agent, (name, capacity) in capacities.items()
    )
    holds = all(capacities.get(agent, ("", 0))[1] >= at_once for agent, at_once in most.items())
    return Check("no agent had more runs at once than its capacity", holds, found)


def _check_pairs(connection: psycopg.Connection[Any], workspace: uuid.UUID) -> Check:
    wrong = [issue for (issue,) in _rows(connection, _PAIRS, {"workspace": workspace})]
    found = f"{len(wrong)} overlaps" + (f": {_some(wrong)}" if wrong else "")
    return Check("no two runs of one issue and agent at once", not wrong, found)


def _rows(
    connection: psycopg.Connection[Any], query: LiteralString, parameters: dict[str, Any]
) -> list[tuple[Any, ...]]:
    with connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(query, parameters).fetchall()


def _some(ids: Sequence[uuid.UUID | None]) -> str:
    shown = ", ".join(str(each) for each in ids[:SHOWN])
    return f"{shown}, …" if len(ids) > SHOWN else shown
