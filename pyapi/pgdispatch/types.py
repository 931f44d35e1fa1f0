"""What the functions answer with: closed sets of words, and one frozen class per SQL type."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Self, TypeAlias

Id: TypeAlias = uuid.UUID | str
"""An id as callers may give it: a `uuid.UUID`, or its text with or without hyphens."""

Json: TypeAlias = Any
"""Anything `json.dumps` takes, and besides `uuid.UUID` and aware `datetime` (sent as text)."""


class Label(StrEnum):
    """Base of the word sets. Members are strings, so `answer.outcome == "queued"` holds."""

    @classmethod
    def read(cls, label: str) -> Self:
        """Give the member of a label that the database sent.

        A database that is one release ahead may send a label that this release has no member
        for. Such a label becomes a member outside the set: it compares and prints as its
        text, has `known` false, and is not found by iteration. Constructing one by hand,
        `Outcome("no_such")`, still raises ValueError.
        """
        try:
            return cls(label)
        except ValueError:
            member = str.__new__(cls, label)
            member._name_ = label.upper()
            member._value_ = label
            return member

    @property
    def known(self) -> bool:
        """Whether this release has a member for the label."""
        return self._name_ in type(self).__members__

    def __reduce_ex__(self, protocol: object) -> tuple[Callable[[str], Self], tuple[str]]:
        """Pickle through `read`, so that a label outside the set survives the way back."""
        return type(self).read, (self.value,)


class Outcome(Label):
    """What became of a wake."""

    QUEUED = "queued"
    COALESCED = "coalesced"
    DEFERRED = "deferred"
    DEDUPLICATED = "deduplicated"
    ABSORBED = "absorbed"
    RATE_LIMITED = "rate_limited"
    BLOCKED = "blocked"
    NONE = "none"


class RunStatus(Label):
    """Where a run stands."""

    DEFERRED = "deferred"
    QUEUED = "queued"
    DISPATCHED = "dispatched"
    WAITING_LOCAL_DIRECTORY = "waiting_local_directory"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ReasonCode(Label):
    """Why a wake became what it became."""

    QUEUED = "queued"
    COALESCED = "coalesced"
    DEFERRED = "deferred"
    DUPLICATE_RECENT = "duplicate_recent"
    DUPLICATE_KEY = "duplicate_key"
    ALREADY_ACTIVE = "already_active"
    ALLOWANCE_EXHAUSTED = "allowance_exhausted"
    INVOCATION_NOT_ALLOWED = "invocation_not_allowed"
    TARGET_UNAVAILABLE = "target_unavailable"
    AGENT_RUNTIME_REQUIRED = "agent_runtime_required"
    RUNTIME_OFFLINE = "runtime_offline"
    RUNTIME_UNUSABLE = "runtime_unusable"
    ATTRIBUTION_BLOCKED = "attribution_blocked"
    PAUSED = "paused"
    PAUSE_UNREADABLE = "pause_unreadable"
    AGENT_NOT_RUNNABLE = "agent_not_runnable"
    SELF_TRIGGER_SUPPRESSED = "self_trigger_suppressed"
    INTERNAL_ERROR = "internal_error"
    NOT_TRIGGERED = "not_triggered"


class Actor(NamedTuple):
    """Who acts, to be unpacked where a function takes an actor.

    `dispatch.create_issue(workspace, "Title", *Actor.user(ana), priority="high")`.
    """

    actor_type: str
    actor_id: Id | None = None
    acting_run_id: Id | None = None

    @classmethod
    def user(cls, user_id: Id | None = None) -> Self:
        """A member of the workspace, or a caller that has no id."""
        return cls("user", user_id)

    @classmethod
    def agent(cls, agent_id: Id, acting_run_id: Id | None = None) -> Self:
        """An agent, inside the run it acts from; without a run it acts for nobody."""
        return cls("agent", agent_id, acting_run_id)

    @classmethod
    def system(cls) -> Self:
        """The service itself."""
        return cls("system")


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one wake. `run_id` is None when no run stands for it."""

    outcome: Outcome
    reason_code: ReasonCode
    run_id: uuid.UUID | None
    agent_id: uuid.UUID | None
    source: str | None
    detail: Json


@dataclass(frozen=True, slots=True)
class IssueWrite:
    """What a write did to an issue, and what became of the wake that it asked for."""

    issue_id: uuid.UUID | None
    identifier: str | None
    assignment_generation: int | None
    outcome: Outcome
    reason_code: ReasonCode
    run_id: uuid.UUID | None
    agent_id: uuid.UUID | None
    source: str | None
    detail: Json


@dataclass(frozen=True, slots=True)
class CommentAnswer:
    """Whom a comment asks for work, and what became of that wake.

    `target_type` is `agent` or `squad`, or None where the comment wakes nobody.
    """

    comment_id: uuid.UUID
    target_type: str | None
    target_id: uuid.UUID | None
    outcome: Outcome
    reason_code: ReasonCode
    run_id: uuid.UUID | None
    agent_id: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class Preview:
    """What a write to one issue would answer. `issue_id` is None for one to be created."""

    issue_id: uuid.UUID | None
    agent_id: uuid.UUID | None
    source: str | None
    will_run: bool
    outcome: Outcome
    reason_code: ReasonCode
    detail: Json


@dataclass(frozen=True, slots=True)
class Explanation:
    """One step on the way from an issue to its run.

    `ok` is None when the step has nothing to look at. `reason_code` says why it is not ok, None
    where the run only waits for its turn.
    """

    step: str
    ok: bool | None
    reason_code: ReasonCode | None
    detail: Json


@dataclass(frozen=True, slots=True)
class Transition:
    """The answer to a report about a run.

    `applied` says whether it counted; if not, `reason` is `not_found`, `superseded`,
    `already_terminal`, `wrong_state` or `lease_expired`, and nothing was written.
    """

    applied: bool
    run_id: uuid.UUID | None
    status: RunStatus | None
    claim_no: int | None
    retry_run_id: uuid.UUID | None
    reason: str | None
    follow_up_run_id: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run that this caller has in hand. `claim_no` is the fence: give it in every report."""

    run_id: uuid.UUID
    workspace_id: uuid.UUID
    agent_id: uuid.UUID
    runtime_id: uuid.UUID
    issue_id: uuid.UUID | None
    chat_session_id: uuid.UUID | None
    autopilot_run_id: uuid.UUID | None
    claim_no: int
    attempt: int
    priority: int
    reason: str
    payload: Json
    triggers: list[dict[str, Any]]
    requested_at: dt.datetime
    dispatched_at: dt.datetime
    lease_expires_at: dt.datetime | None
    originator_id: uuid.UUID | None
    accountable_id: uuid.UUID | None
    attribution_source: str | None
    is_leader_run: bool
    squad_id: uuid.UUID | None
    handoff_note: str | None
    session_id: str | None
    work_dir: str | None
    reclaimed: bool


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How many runs of an agent stand in one status, and since when the oldest."""

    workspace_id: uuid.UUID
    agent_id: uuid.UUID
    status: RunStatus
    runs: int
    oldest_requested_at: dt.datetime


@dataclass(frozen=True, slots=True)
class Swept:
    """How many rows one sweep has handled."""

    sweep: str
    runs: int


@dataclass(frozen=True, slots=True)
class Ticked:
    """How many rows one step of a tick has handled."""

    step: str
    rows: int


@dataclass(frozen=True, slots=True)
class GateCounter:
    """How often a gate acted for one reason, over all workspaces and since the beginning."""

    metric: str
    reason: str
    value: int
