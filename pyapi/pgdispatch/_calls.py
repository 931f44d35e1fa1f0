"""Every call of the dispatch functions, declared once for both clients; nothing is sent here.

A function of this module checks its arguments and gives the call that a client then makes. SQL
names follow from Python names: argument `x` is `p_x`, and a row class lists its columns.
"""

from __future__ import annotations

import datetime as dt
import functools
import inspect
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from pgdispatch import _arguments as arg
from pgdispatch._arguments import Argument
from pgdispatch.types import (
    ClaimedRun,
    CommentAnswer,
    Decision,
    Explanation,
    GateCounter,
    Id,
    IssueWrite,
    Json,
    Label,
    Preview,
    QueueDepth,
    Swept,
    Ticked,
    Transition,
)

T = TypeVar("T")
Rows = Sequence[tuple[Any, ...]]

NO_PAYLOAD: Mapping[str, object] = types.MappingProxyType({})
"""The payload of a wake that has none."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One statement, its parameters, and the way from its rows to the answer."""

    sql: str
    args: Mapping[str, object]
    read: Callable[[Rows], T]


class Shape(Generic[T]):
    """How a row class is selected and built: its fields are the columns, by name."""

    def __init__(self, row: type[T]) -> None:
        hints = typing.get_type_hints(row)
        names = [each.name for each in fields(typing.cast(Any, row))]
        self._row = row
        self._labels = [_label(hints[name]) for name in names]
        # As text, since a connection knows nothing of our enumerations.
        self.columns = ", ".join(
            f"a.{name}::text" if label else f"a.{name}"
            for name, label in zip(names, self._labels, strict=True)
        )

    def read(self, values: tuple[Any, ...]) -> T:
        """Build the row, its labels as members of their word sets."""
        return self._row(
            *(
                value if label is None or value is None else label.read(value)
                for value, label in zip(values, self._labels, strict=True)
            )
        )

    def all(self, rows: Rows) -> list[T]:
        """Give every row, in the order in which they came."""
        return [self.read(row) for row in rows]

    def one(self, rows: Rows) -> T:
        """Give the only row."""
        return self.read(rows[0])

    def first(self, rows: Rows) -> T | None:
        """Give the only row, if there is one."""
        return self.read(rows[0]) if rows else None


def _label(hint: object) -> type[Label] | None:
    """Find the word set in a field's type, which may be optional."""
    for each in typing.get_args(hint) or (hint,):
        if isinstance(each, type) and issubclass(each, Label):
            return each
    return None


_DECISION = Shape(Decision)
_ISSUE_WRITE = Shape(IssueWrite)
_COMMENT_ANSWER = Shape(CommentAnswer)
_PREVIEW = Shape(Preview)
_EXPLANATION = Shape(Explanation)
_TRANSITION = Shape(Transition)
_CLAIMED_RUN = Shape(ClaimedRun)
_QUEUE_DEPTH = Shape(QueueDepth)
_SWEPT = Shape(Swept)
_TICKED = Shape(Ticked)
_GATE_COUNTER = Shape(GateCounter)


def _invocation(function: str, args: Sequence[Argument]) -> str:
    given = ", ".join(f"p_{each.name} => %({each.name})s::{each.type}" for each in args)
    return f"dispatch.{function}({given})"


def _parameters(args: Sequence[Argument]) -> dict[str, object]:
    return {each.name: each.value for each in args}


def _rows(
    shape: Shape[Any], read: Callable[[Rows], T], function: str, *args: Argument
) -> Call[T]:
    sql = f"select {shape.columns} from {_invocation(function, args)} as a"  # noqa: S608
    return Call(sql, _parameters(args), read)


def _scalar(of: type[T], function: str, *args: Argument) -> Call[T]:
    def read(rows: Rows) -> T:
        return typing.cast(T, rows[0][0])

    return Call(f"select {_invocation(function, args)}", _parameters(args), read)


def _nothing(function: str, *args: Argument) -> Call[None]:
    def read(_rows: Rows) -> None:
        return None

    return Call(f"select {_invocation(function, args)}", _parameters(args), read)


def _workspace(workspace_id: Id) -> Argument:
    return arg.required_id("workspace_id", workspace_id)


def _actor(
    actor_type: str, actor_id: Id | None, acting_run_id: Id | None
) -> tuple[Argument, Argument, Argument]:
    return (
        arg.text("actor_type", actor_type),
        arg.optional_id("actor_id", actor_id),
        arg.optional_id("acting_run_id", acting_run_id),
    )


def dress(method: Callable[..., Any], owner: str, declared: Callable[..., Call[Any]]) -> None:
    """Give a client's method the name, the docstring and the signature of its declaration."""
    signature = inspect.signature(declared)
    answer = str(signature.return_annotation).removeprefix("Call[").removesuffix("]")
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    functools.update_wrapper(method, declared, assigned=("__name__", "__doc__"))
    method.__qualname__ = f"{owner}.{declared.__name__}"
    method.__annotations__ = {**declared.__annotations__, "return": answer}
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[this, *signature.parameters.values()], return_annotation=answer
    )


# Directory


def put_workspace(
    workspace_id: Id,
    name: str,
    issue_prefix: str | None = None,
    attribution_policy: str | None = None,
) -> Call[None]:
    """Store a workspace, or change what is given.

    An argument left out keeps what is stored. `attribution_policy` is `owner_fallback`, the
    first default, or `fail_closed`; `issue_prefix` is two to ten capital letters and digits.
    """
    return _nothing(
        "put_workspace",
        _workspace(workspace_id),
        arg.text("name", name),
        arg.optional_text("issue_prefix", issue_prefix),
        arg.optional_text("attribution_policy", attribution_policy),
    )


def delete_workspace(
    workspace_id: Id,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
) -> Call[int]:
    """Delete a workspace and all that is in it, and return how many unfinished runs that
    ended.
    """
    return _scalar(
        int,
        "delete_workspace",
        _workspace(workspace_id),
        *_actor(actor_type, actor_id, acting_run_id),
    )


def put_member(workspace_id: Id, user_id: Id, name: str, role: str | None = None) -> Call[None]:
    """Store a human of the workspace, or change what is given.

    `role` is `owner`, `admin` or `member`, the first default.
    """
    return _nothing(
        "put_member",
        _workspace(workspace_id),
        arg.required_id("user_id", user_id),
        arg.text("name", name),
        arg.optional_text("role", role),
    )


def remove_member(workspace_id: Id, user_id: Id) -> Call[None]:
    """Take a human out of the workspace, with their team memberships and the grants made to
    them.
    """
    return _nothing(
        "remove_member", _workspace(workspace_id), arg.required_id("user_id", user_id)
    )


def put_team(workspace_id: Id, team_id: Id, name: str) -> Call[None]:
    """Store a team of the workspace, or rename it."""
    return _nothing(
        "put_team",
        _workspace(workspace_id),
        arg.required_id("team_id", team_id),
        arg.text("name", name),
    )


def put_team_member(workspace_id: Id, team_id: Id, user_id: Id) -> Call[None]:
    """Put a member of the workspace into a team."""
    return _nothing(
        "put_team_member",
        _workspace(workspace_id),
        arg.required_id("team_id", team_id),
        arg.required_id("user_id", user_id),
    )


def remove_team_member(workspace_id: Id, team_id: Id, user_id: Id) -> Call[None]:
    """Take a member out of a team."""
    return _nothing(
        "remove_team_member",
        _workspace(workspace_id),
        arg.required_id("team_id", team_id),
        arg.required_id("user_id", user_id),
    )


def put_runtime(
    workspace_id: Id, runtime_id: Id, daemon_id: str, name: str | None = None
) -> Call[None]:
    """Store a runtime of a daemon, or change what is given.

    It is offline until its first heartbeat.
    """
    return _nothing(
        "put_runtime",
        _workspace(workspace_id),
        arg.required_id("runtime_id", runtime_id),
        arg.text("daemon_id", daemon_id),
        arg.optional_text("name", name),
    )


def put_agent(
    workspace_id: Id,
    agent_id: Id,
    name: str,
    owner_id: Id,
    runtime_id: Id | None = None,
    permission: str | None = None,
    max_concurrent_runs: int | None = None,
) -> Call[None]:
    """Store an agent, or change what is given.

    `permission` is `private`, the first default, or `public_to`; `max_concurrent_runs` is
    between 1 and 50, first 6.
    """
    return _nothing(
        "put_agent",
        _workspace(workspace_id),
        arg.required_id("agent_id", agent_id),
        arg.text("name", name),
        arg.required_id("owner_id", owner_id),
        arg.optional_id("runtime_id", runtime_id),
        arg.optional_text("permission", permission),
        arg.optional_integer("max_concurrent_runs", max_concurrent_runs),
    )


def set_agent_status(workspace_id: Id, agent_id: Id, status: str) -> Call[None]:
    """Set an agent to active, paused, stopped or pending_approval."""
    return _nothing(
        "set_agent_status",
        _workspace(workspace_id),
        arg.required_id("agent_id", agent_id),
        arg.text("status", status),
    )


def bind_agent(workspace_id: Id, agent_id: Id, runtime_id: Id | None) -> Call[None]:
    """Move an agent, with its queued and deferred runs, to a runtime.

    None unbinds the agent, and those runs keep the runtime that they had.
    """
    return _nothing(
        "bind_agent",
        _workspace(workspace_id),
        arg.required_id("agent_id", agent_id),
        arg.optional_id("runtime_id", runtime_id),
    )


def archive_agent(workspace_id: Id, agent_id: Id) -> Call[int]:
    """Retire an agent, cancel all its runs that have not ended, and return how many."""
    return _scalar(
        int, "archive_agent", _workspace(workspace_id), arg.required_id("agent_id", agent_id)
    )


def grant_invoke(
    workspace_id: Id, agent_id: Id, target_type: str, target_id: Id | None = None
) -> Call[None]:
    """Let the workspace, a member or a team invoke an agent."""
    return _nothing(
        "grant_invoke",
        _workspace(workspace_id),
        arg.required_id("agent_id", agent_id),
        arg.text("target_type", target_type),
        arg.optional_id("target_id", target_id),
    )


def revoke_invoke(
    workspace_id: Id, agent_id: Id, target_type: str, target_id: Id | None = None
) -> Call[None]:
    """Take back what grant_invoke gave; the arguments are the same."""
    return _nothing(
        "revoke_invoke",
        _workspace(workspace_id),
        arg.required_id("agent_id", agent_id),
        arg.text("target_type", target_type),
        arg.optional_id("target_id", target_id),
    )


def put_squad(workspace_id: Id, squad_id: Id, name: str, leader_id: Id) -> Call[None]:
    """Store a squad, or change its name and leader."""
    return _nothing(
        "put_squad",
        _workspace(workspace_id),
        arg.required_id("squad_id", squad_id),
        arg.text("name", name),
        arg.required_id("leader_id", leader_id),
    )


def archive_squad(workspace_id: Id, squad_id: Id) -> Call[None]:
    """Retire a squad: nothing can be assigned to it any more."""
    return _nothing(
        "archive_squad", _workspace(workspace_id), arg.required_id("squad_id", squad_id)
    )


def heartbeat(workspace_id: Id, runtime_ids: Iterable[Id]) -> Call[int]:
    """Mark runtimes as alive, and return how many are known."""
    return _scalar(
        int, "heartbeat", _workspace(workspace_id), arg.ids("runtime_ids", runtime_ids)
    )


def set_runtime_offline(
    workspace_id: Id, runtime_id: Id, reason: str | None = None
) -> Call[None]:
    """Mark a runtime as offline.

    The reason `not_executable` makes it unusable until its next heartbeat.
    """
    return _nothing(
        "set_runtime_offline",
        _workspace(workspace_id),
        arg.required_id("runtime_id", runtime_id),
        arg.optional_text("reason", reason),
    )


def can_invoke_agent(
    workspace_id: Id,
    agent_id: Id,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
    originator_id: Id | None = None,
) -> Call[bool]:
    """Tell whether an actor may start an agent."""
    return _scalar(
        bool,
        "can_invoke_agent",
        _workspace(workspace_id),
        arg.required_id("agent_id", agent_id),
        *_actor(actor_type, actor_id, acting_run_id),
        arg.optional_id("originator_id", originator_id),
    )


# Issues


def create_issue(
    workspace_id: Id,
    title: str,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
    status: str = "todo",
    priority: str = "none",
    assignee_type: str | None = None,
    assignee_id: Id | None = None,
    issue_id: Id | None = None,
    handoff_note: str | None = None,
    suppress_run: bool = False,
    parent_id: Id | None = None,
    stage: int | None = None,
) -> Call[IssueWrite]:
    """Create an issue and, when it has an agent or a squad as assignee, start that one's run.

    Raises `NotAllowed` when the actor may not invoke the assignee.
    """
    return _rows(
        _ISSUE_WRITE,
        _ISSUE_WRITE.one,
        "create_issue",
        _workspace(workspace_id),
        arg.text("title", title),
        *_actor(actor_type, actor_id, acting_run_id),
        arg.text("status", status),
        arg.text("priority", priority),
        arg.optional_text("assignee_type", assignee_type),
        arg.optional_id("assignee_id", assignee_id),
        arg.optional_id("issue_id", issue_id),
        arg.report_text("handoff_note", handoff_note),
        arg.boolean("suppress_run", suppress_run),
        arg.optional_id("parent_id", parent_id),
        arg.optional_integer("stage", stage),
    )


def update_issue(
    workspace_id: Id,
    issue_id: Id,
    changes: Mapping[str, object],
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
    handoff_note: str | None = None,
    suppress_run: bool = False,
) -> Call[IssueWrite]:
    """Change an issue and start the run that the change asks for.

    `changes` holds any of `title`, `status`, `priority` and `assignee`, the last as `{"type":
    ..., "id": ...}` or None. An assignee that is given is an assignment, even when it is the
    same one.
    """
    return _rows(
        _ISSUE_WRITE,
        _ISSUE_WRITE.one,
        "update_issue",
        _workspace(workspace_id),
        arg.required_id("issue_id", issue_id),
        arg.changes("changes", changes),
        *_actor(actor_type, actor_id, acting_run_id),
        arg.report_text("handoff_note", handoff_note),
        arg.boolean("suppress_run", suppress_run),
    )


def update_issues(
    workspace_id: Id,
    issue_ids: Iterable[Id],
    changes: Mapping[str, object],
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
    handoff_note: str | None = None,
    suppress_run: bool = False,
) -> Call[list[IssueWrite]]:
    """Make the same change to many issues: one row an id, in the order given.

    A refused assignee is that issue's `blocked`, and the issue stays as it is; an unknown id is
    `none`.
    """
    return _rows(
        _ISSUE_WRITE,
        _ISSUE_WRITE.all,
        "update_issues",
        _workspace(workspace_id),
        arg.ids("issue_ids", issue_ids),
        arg.changes("changes", changes),
        *_actor(actor_type, actor_id, acting_run_id),
        arg.report_text("handoff_note", handoff_note),
        arg.boolean("suppress_run", suppress_run),
    )


def delete_issue(
    workspace_id: Id,
    issue_id: Id,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
) -> Call[int]:
    """Delete an issue with its comments, and give the number of its runs that this cancels."""
    return _scalar(
        int,
        "delete_issue",
        _workspace(workspace_id),
        arg.required_id("issue_id", issue_id),
        *_actor(actor_type, actor_id, acting_run_id),
    )


def add_comment(
    workspace_id: Id,
    issue_id: Id,
    body: str,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
    mentions: Iterable[Mapping[str, object]] = (),
    parent_id: Id | None = None,
) -> Call[list[CommentAnswer]]:
    """Write a comment on an issue and wake whom it asks for work: one row a target.

    `mentions` holds objects of `type` (`agent`, `squad`, `member`, `all`) and `id`; `parent_id`
    makes it a reply. Nobody woken is one row without a target.
    """
    return _rows(
        _COMMENT_ANSWER,
        _COMMENT_ANSWER.all,
        "add_comment",
        _workspace(workspace_id),
        arg.required_id("issue_id", issue_id),
        arg.text("body", body),
        *_actor(actor_type, actor_id, acting_run_id),
        arg.batch("mentions", mentions),
        arg.optional_id("parent_id", parent_id),
    )


def edit_comment(
    workspace_id: Id,
    comment_id: Id,
    body: str,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
    mentions: Iterable[Mapping[str, object]] = (),
) -> Call[list[CommentAnswer]]:
    """Change a comment, take back what it has started, and wake whom it asks for work now.

    `body` and `mentions` replace what is stored. Rows about other comments come first: their
    runs stood for the edited one as well and are queued again.
    """
    return _rows(
        _COMMENT_ANSWER,
        _COMMENT_ANSWER.all,
        "edit_comment",
        _workspace(workspace_id),
        arg.required_id("comment_id", comment_id),
        arg.text("body", body),
        *_actor(actor_type, actor_id, acting_run_id),
        arg.batch("mentions", mentions),
    )


def delete_comment(
    workspace_id: Id,
    comment_id: Id,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
) -> Call[list[CommentAnswer]]:
    """Delete a comment with its replies, and take back what they have started.

    The rows are those of other comments, whose runs stood for a deleted one as well and are
    queued again.
    """
    return _rows(
        _COMMENT_ANSWER,
        _COMMENT_ANSWER.all,
        "delete_comment",
        _workspace(workspace_id),
        arg.required_id("comment_id", comment_id),
        *_actor(actor_type, actor_id, acting_run_id),
    )


def preview_create(
    workspace_id: Id,
    changes: Mapping[str, object],
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
) -> Call[list[Preview]]:
    """Tell what creating an issue would start, and write nothing: one row, without an issue id.

    `changes` describes the issue to be, as those of `update_issue`. An assignee that
    `create_issue` would refuse is `blocked`.
    """
    return _rows(
        _PREVIEW,
        _PREVIEW.all,
        "preview_create",
        _workspace(workspace_id),
        arg.changes("changes", changes),
        *_actor(actor_type, actor_id, acting_run_id),
    )


def preview_update(
    workspace_id: Id,
    issue_ids: Iterable[Id],
    changes: Mapping[str, object],
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
) -> Call[list[Preview]]:
    """Tell what a change of issues would start, and write nothing: one row for each distinct id
    that is found, in the order given.

    At most 500 ids. An assignee that the write would refuse is `blocked` in each row.
    """
    return _rows(
        _PREVIEW,
        _PREVIEW.all,
        "preview_update",
        _workspace(workspace_id),
        arg.ids("issue_ids", issue_ids),
        arg.changes("changes", changes),
        *_actor(actor_type, actor_id, acting_run_id),
    )


def resolve_issue(workspace_id: Id, reference: Id) -> Call[uuid.UUID]:
    """Find an issue by what people write: its identifier, as ABC-42, or its id.

    Raises `NotFound` when it is neither.
    """
    return _scalar(
        uuid.UUID,
        "resolve_issue",
        _workspace(workspace_id),
        arg.text(
            "reference", str(reference) if isinstance(reference, uuid.UUID) else reference
        ),
    )


# Wakes


def queue_wake(
    workspace_id: Id,
    agent_id: Id,
    reason: str,
    payload: Json = NO_PAYLOAD,
    idempotency_key: str | None = None,
    issue_id: Id | None = None,
    chat_session_id: Id | None = None,
    priority: int = 0,
    fire_at: dt.datetime | None = None,
    originator_id: Id | None = None,
    actor_type: str = "system",
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
    coalesce: bool = True,
    max_attempts: int = 2,
) -> Call[Decision]:
    """Ask for one run of an agent and learn what became of the wish.

    For trusted producers: nobody's right to invoke is asked. A refusal is an answer, not an
    error.
    """
    return _rows(
        _DECISION,
        _DECISION.one,
        "queue_wake",
        _workspace(workspace_id),
        arg.required_id("agent_id", agent_id),
        arg.text("reason", reason),
        arg.document("payload", payload),
        arg.optional_text("idempotency_key", idempotency_key),
        arg.optional_id("issue_id", issue_id),
        arg.optional_id("chat_session_id", chat_session_id),
        arg.integer("priority", priority),
        arg.optional_instant("fire_at", fire_at),
        arg.optional_id("originator_id", originator_id),
        arg.text("actor_type", actor_type),
        arg.optional_id("actor_id", actor_id),
        arg.optional_id("acting_run_id", acting_run_id),
        arg.boolean("coalesce", coalesce),
        arg.integer("max_attempts", max_attempts),
    )


def queue_wakes(
    workspace_id: Id, wakes: Iterable[Mapping[str, object]]
) -> Call[list[Decision]]:
    """Ask for many runs in one call: one decision an element, in the order given.

    A wake is a mapping of the arguments of `queue_wake`. One of a wrong shape refuses the whole
    call.
    """
    return _rows(
        _DECISION,
        _DECISION.all,
        "queue_wakes",
        _workspace(workspace_id),
        arg.batch("wakes", wakes),
    )


def read_payload(text: str | None) -> Call[Json]:
    """Read a text as a payload without ever refusing it."""
    return _scalar(object, "read_payload", arg.optional_text("text", text))


# Claim and lifecycle


def claim_run(
    workspace_id: Id, agent_id: Id, runtime_id: Id | None = None
) -> Call[ClaimedRun | None]:
    """Hand out the next queued run of one agent: one row, or none."""
    return _rows(
        _CLAIMED_RUN,
        _CLAIMED_RUN.first,
        "claim_run",
        _workspace(workspace_id),
        arg.required_id("agent_id", agent_id),
        arg.optional_id("runtime_id", runtime_id),
    )


def claim_runs(
    workspace_id: Id,
    runtime_ids: Iterable[Id],
    max: int = 1,
    per_agent: int = 1,
    start: bool = False,
    lease: dt.timedelta | None = None,
) -> Call[list[ClaimedRun]]:
    """Hand a daemon the next runs of its runtimes.

    At most `max` runs come back, and at most `per_agent` newly claimed ones of an agent. With
    `start` they are running at once, for daemons that prepare nothing. Needs READ COMMITTED.
    """
    return _rows(
        _CLAIMED_RUN,
        _CLAIMED_RUN.all,
        "claim_runs",
        _workspace(workspace_id),
        arg.ids("runtime_ids", runtime_ids),
        arg.integer("max", max),
        arg.integer("per_agent", per_agent),
        arg.boolean("start", start),
        arg.optional_interval("lease", lease),
    )


def start_run(
    workspace_id: Id, run_id: Id, claim_no: int, lease: dt.timedelta | None = None
) -> Call[Transition]:
    """Report that a claimed run has begun: dispatched or waiting becomes running.

    With a lease the run itself expires unless it is extended.
    """
    return _rows(
        _TRANSITION,
        _TRANSITION.one,
        "start_run",
        _workspace(workspace_id),
        arg.required_id("run_id", run_id),
        arg.integer("claim_no", claim_no),
        arg.optional_interval("lease", lease),
    )


def wait_run(workspace_id: Id, run_id: Id, claim_no: int, wait_reason: str) -> Call[Transition]:
    """Report that a claimed run waits for its local directory: dispatched becomes waiting."""
    return _rows(
        _TRANSITION,
        _TRANSITION.one,
        "wait_run",
        _workspace(workspace_id),
        arg.required_id("run_id", run_id),
        arg.integer("claim_no", claim_no),
        arg.text("wait_reason", wait_reason),
    )


def extend_lease(
    workspace_id: Id, run_id: Id, claim_no: int, lease: dt.timedelta | None = None
) -> Call[Transition]:
    """Keep a claim, or a running run that was started with a lease, protected for longer."""
    return _rows(
        _TRANSITION,
        _TRANSITION.one,
        "extend_lease",
        _workspace(workspace_id),
        arg.required_id("run_id", run_id),
        arg.integer("claim_no", claim_no),
        arg.optional_interval("lease", lease),
    )


def defer_run(
    workspace_id: Id, run_id: Id, claim_no: int, until: dt.datetime
) -> Call[Transition]:
    """Put a claimed, waiting or running run off until p_until; it uses up no attempt."""
    return _rows(
        _TRANSITION,
        _TRANSITION.one,
        "defer_run",
        _workspace(workspace_id),
        arg.required_id("run_id", run_id),
        arg.integer("claim_no", claim_no),
        arg.instant("until", until),
    )


def complete_run(
    workspace_id: Id,
    run_id: Id,
    claim_no: int,
    result: Json | None = None,
    session_id: str | None = None,
    work_dir: str | None = None,
    session_lost: bool = False,
) -> Call[Transition]:
    """Report that a running run has done its work.

    NUL and unpaired surrogates in the result become U+FFFD.
    """
    return _rows(
        _TRANSITION,
        _TRANSITION.one,
        "complete_run",
        _workspace(workspace_id),
        arg.required_id("run_id", run_id),
        arg.integer("claim_no", claim_no),
        arg.report_document("result", result),
        arg.optional_text("session_id", session_id),
        arg.optional_text("work_dir", work_dir),
        arg.boolean("session_lost", session_lost),
    )


def fail_run(
    workspace_id: Id,
    run_id: Id,
    claim_no: int,
    failure_reason: str | None = None,
    error: str | None = None,
    session_id: str | None = None,
    work_dir: str | None = None,
    session_lost: bool = False,
) -> Call[Transition]:
    """Report that a claimed, waiting or running run has failed.

    NUL and unpaired surrogates in the error become U+FFFD.
    """
    return _rows(
        _TRANSITION,
        _TRANSITION.one,
        "fail_run",
        _workspace(workspace_id),
        arg.required_id("run_id", run_id),
        arg.integer("claim_no", claim_no),
        arg.optional_text("failure_reason", failure_reason),
        arg.report_text("error", error),
        arg.optional_text("session_id", session_id),
        arg.optional_text("work_dir", work_dir),
        arg.boolean("session_lost", session_lost),
    )


def requeue_run(workspace_id: Id, run_id: Id, claim_no: int) -> Call[Transition]:
    """Give a claim back at once: dispatched becomes queued, in its old place."""
    return _rows(
        _TRANSITION,
        _TRANSITION.one,
        "requeue_run",
        _workspace(workspace_id),
        arg.required_id("run_id", run_id),
        arg.integer("claim_no", claim_no),
    )


def cancel_run(
    workspace_id: Id,
    run_id: Id,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
    reason: str | None = None,
) -> Call[Transition]:
    """Cancel a run that has not ended, in whatever state, with all the wakes recorded on it.

    Raises `NotAllowed` when the actor may not see the run.
    """
    return _rows(
        _TRANSITION,
        _TRANSITION.one,
        "cancel_run",
        _workspace(workspace_id),
        arg.required_id("run_id", run_id),
        *_actor(actor_type, actor_id, acting_run_id),
        arg.optional_text("reason", reason),
    )


def start_runs(
    workspace_id: Id, reports: Iterable[Mapping[str, object]]
) -> Call[list[Transition]]:
    """Report the start of many runs in one call: one transition an element, in the order
    given.

    A report is a mapping of the arguments of `start_run`.
    """
    return _rows(
        _TRANSITION,
        _TRANSITION.all,
        "start_runs",
        _workspace(workspace_id),
        arg.batch("reports", reports),
    )


def complete_runs(
    workspace_id: Id, reports: Iterable[Mapping[str, object]]
) -> Call[list[Transition]]:
    """Report the completion of many runs in one call: one transition an element, in the order
    given.

    A report is a mapping of the arguments of `complete_run`.
    """
    return _rows(
        _TRANSITION,
        _TRANSITION.all,
        "complete_runs",
        _workspace(workspace_id),
        arg.batch("reports", reports),
    )


def fail_runs(
    workspace_id: Id, reports: Iterable[Mapping[str, object]]
) -> Call[list[Transition]]:
    """Report the failure of many runs in one call: one transition an element, in the order
    given.

    A report is a mapping of the arguments of `fail_run`.
    """
    return _rows(
        _TRANSITION,
        _TRANSITION.all,
        "fail_runs",
        _workspace(workspace_id),
        arg.batch("reports", reports),
    )


# Recovery


def reclaim_runs(
    workspace_id: Id, runtime_ids: Iterable[Id], max: int = 1
) -> Call[list[ClaimedRun]]:
    """Hand out again the runs of these runtimes whose claim was never confirmed."""
    return _rows(
        _CLAIMED_RUN,
        _CLAIMED_RUN.all,
        "reclaim_runs",
        _workspace(workspace_id),
        arg.ids("runtime_ids", runtime_ids),
        arg.integer("max", max),
    )


def promote_deferred(
    workspace_id: Id, runtime_ids: Iterable[Id] | None = None, max: int = 500
) -> Call[int]:
    """Queue deferred runs that are due, and return how many."""
    return _scalar(
        int,
        "promote_deferred",
        _workspace(workspace_id),
        arg.optional_ids("runtime_ids", runtime_ids),
        arg.integer("max", max),
    )


def recover_runtime(workspace_id: Id, runtime_id: Id) -> Call[list[Transition]]:
    """Fail and retry what a runtime had in hand when its daemon went down: one row a run."""
    return _rows(
        _TRANSITION,
        _TRANSITION.all,
        "recover_runtime",
        _workspace(workspace_id),
        arg.required_id("runtime_id", runtime_id),
    )


def rerun(
    workspace_id: Id,
    run_id: Id,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
) -> Call[Decision]:
    """Ask for the work of a run once more, as an act of whoever asks.

    What the pair has waiting is cancelled and handed over to the new run; what has begun is
    left to end. Raises `NotAllowed` when the actor may not start the agent, `NotFound` when
    the workspace has no such run. A refusal by a gate is the decision.
    """
    return _rows(
        _DECISION,
        _DECISION.one,
        "rerun",
        _workspace(workspace_id),
        arg.required_id("run_id", run_id),
        *_actor(actor_type, actor_id, acting_run_id),
    )


def sweep(max: int = 500, only: str | None = None) -> Call[list[Swept]]:
    """End what nobody will end any more, over all workspaces: a row a sweep, with how many it
    handled.

    `only` is runtimes, dispatched, running, offline, queued or reconnect.
    """
    return _rows(
        _SWEPT,
        _SWEPT.all,
        "sweep",
        arg.integer("max", max),
        arg.optional_text("only", only),
    )


def tick(only: str | None = None) -> Call[list[Ticked]]:
    """Do what has to be done from time to time, over all workspaces: a row a step, with how
    many rows.

    `only` is replay, promote, sweep or prune. Making one call a step keeps the transactions
    short.
    """
    return _rows(_TICKED, _TICKED.all, "tick", arg.optional_text("only", only))


# Pause


def pause_workspace(
    workspace_id: Id,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
    reason: str | None = None,
) -> Call[bool]:
    """Stop admission, claims, reclaim and promotion in a workspace; true when this call paused
    it.

    `reason` has 1 to 500 characters after trimming and may not be left out. Raises `NotAllowed`
    when an agent acts.
    """
    return _scalar(
        bool,
        "pause_workspace",
        _workspace(workspace_id),
        *_actor(actor_type, actor_id, acting_run_id),
        arg.optional_text("reason", reason),
    )


def resume_workspace(
    workspace_id: Id,
    actor_type: str,
    actor_id: Id | None = None,
    acting_run_id: Id | None = None,
    reason: str | None = None,
) -> Call[bool]:
    """End a workspace's pause; true when this call ended it.

    The assignments that the pause refused are replayed in the same transaction. Raises
    `NotAllowed` when an agent acts.
    """
    return _scalar(
        bool,
        "resume_workspace",
        _workspace(workspace_id),
        *_actor(actor_type, actor_id, acting_run_id),
        arg.optional_text("reason", reason),
    )


# Reading


def explain_issue(workspace_id: Id, issue_id: Id) -> Call[list[Explanation]]:
    """Explain why an issue is or is not being worked on, one row a step, in a wake's order.

    The first step that is not ok is what the issue waits for.
    """
    return _rows(
        _EXPLANATION,
        _EXPLANATION.all,
        "explain_issue",
        _workspace(workspace_id),
        arg.required_id("issue_id", issue_id),
    )


def queue_depth(workspace_id: Id, agent_id: Id | None = None) -> Call[list[QueueDepth]]:
    """Count the runs of a workspace, or of one of its agents, by agent and status."""
    args = (_workspace(workspace_id), arg.optional_id("agent_id", agent_id))
    sql = (
        f"select {_QUEUE_DEPTH.columns} from dispatch.queue_depth as a"  # noqa: S608
        " where a.workspace_id = %(workspace_id)s::uuid"
        " and (%(agent_id)s::uuid is null or a.agent_id = %(agent_id)s::uuid)"
        " order by a.agent_id, a.status"
    )
    return Call(sql, _parameters(args), _QUEUE_DEPTH.all)


def gate_counters() -> Call[list[GateCounter]]:
    """Tell how often each gate acted, over all workspaces."""
    sql = (
        f"select {_GATE_COUNTER.columns} from dispatch.gate_counters as a"  # noqa: S608
        " order by a.metric, a.reason"
    )
    return Call(sql, {}, _GATE_COUNTER.all)


def clock() -> Call[dt.datetime]:
    """Tell the instant that every function of this schema writes and compares."""
    return _scalar(dt.datetime, "clock")


def allowance_limit() -> Call[int]:
    """Give the number of agent-initiated assignment wakes that one issue may admit per
    window.
    """
    return _scalar(int, "allowance_limit")


def allowance_window() -> Call[dt.timedelta]:
    """Give the length of the window in which the assignment allowance is counted."""
    return _scalar(dt.timedelta, "allowance_window")


def batch_limit() -> Call[int]:
    """Give the largest number of elements in one batch."""
    return _scalar(int, "batch_limit")


def claim_batch_limit() -> Call[int]:
    """Give the largest number of runs that one claim returns."""
    return _scalar(int, "claim_batch_limit")


def claim_recovery_window() -> Call[dt.timedelta]:
    """Give the age beyond which a claim that was never confirmed is handed out again."""
    return _scalar(dt.timedelta, "claim_recovery_window")


def coalesce_window() -> Call[dt.timedelta]:
    """Give the age below which a queued run still merges an equal wake."""
    return _scalar(dt.timedelta, "coalesce_window")


def dispatch_timeout() -> Call[dt.timedelta]:
    """Give the age beyond which a sweep fails a run that was claimed and not started."""
    return _scalar(dt.timedelta, "dispatch_timeout")


def document_limit() -> Call[int]:
    """Give the largest payload or result in bytes of its text."""
    return _scalar(int, "document_limit")


def duplicate_window() -> Call[dt.timedelta]:
    """Give the age below which a run with the same key makes a wake a recent duplicate."""
    return _scalar(dt.timedelta, "duplicate_window")


def error_limit() -> Call[int]:
    """Give the largest stored error text in bytes."""
    return _scalar(int, "error_limit")


def escalation_delay() -> Call[dt.timedelta]:
    """Give how long a wake of the assignee waits for the agent that was answered."""
    return _scalar(dt.timedelta, "escalation_delay")


def gate_event_retention() -> Call[dt.timedelta]:
    """Give how long a gate event is kept before it is summed up."""
    return _scalar(dt.timedelta, "gate_event_retention")


def key_limit() -> Call[int]:
    """Give the largest idempotency key in bytes."""
    return _scalar(int, "key_limit")


def max_delay() -> Call[dt.timedelta]:
    """Give how far ahead a run may be deferred."""
    return _scalar(dt.timedelta, "max_delay")


def max_lease() -> Call[dt.timedelta]:
    """Give the longest lease that may be asked for."""
    return _scalar(dt.timedelta, "max_lease")


def name_limit() -> Call[int]:
    """Give the largest name in bytes."""
    return _scalar(int, "name_limit")


def occurrence_lateness() -> Call[dt.timedelta]:
    """Give how late a planned instant may still fire."""
    return _scalar(dt.timedelta, "occurrence_lateness")


def preview_limit() -> Call[int]:
    """Give the largest number of issues in one preview."""
    return _scalar(int, "preview_limit")


def prepare_lease() -> Call[dt.timedelta]:
    """Give the lease that a claim gets until its run is started."""
    return _scalar(dt.timedelta, "prepare_lease")


def queued_ttl() -> Call[dt.timedelta]:
    """Give the age beyond which a sweep fails a run that was never claimed."""
    return _scalar(dt.timedelta, "queued_ttl")


def reason_limit() -> Call[int]:
    """Give the largest wake reason in bytes."""
    return _scalar(int, "reason_limit")


def reconnect_grace() -> Call[dt.timedelta]:
    """Give how long a silent runtime keeps the runs it has in hand."""
    return _scalar(dt.timedelta, "reconnect_grace")


def run_retention() -> Call[dt.timedelta]:
    """Give how long a terminal run is kept."""
    return _scalar(dt.timedelta, "run_retention")


def running_timeout() -> Call[dt.timedelta]:
    """Give the age beyond which a sweep fails a running run of a silent runtime."""
    return _scalar(dt.timedelta, "running_timeout")


def runtime_freshness() -> Call[dt.timedelta]:
    """Give the age of a heartbeat up to which an online runtime counts as fresh."""
    return _scalar(dt.timedelta, "runtime_freshness")


def trigger_budget() -> Call[int]:
    """Give how many bytes of wakes one claim returns for a run."""
    return _scalar(int, "trigger_budget")


def wake_channel() -> Call[str]:
    """Give the channel on which a runtime is told that a run may be claimable."""
    return _scalar(str, "wake_channel")
