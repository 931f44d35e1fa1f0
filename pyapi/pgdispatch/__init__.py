"""Dispatch of agent runs as stored logic inside PostgreSQL: the thin Python side."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from pgdispatch.aio import AsyncDispatch
from pgdispatch.client import Dispatch
from pgdispatch.errors import (
    BrokenInvariant,
    Conflict,
    DispatchError,
    InvalidArgument,
    NotAllowed,
    NotFound,
    SchemaMismatch,
)
from pgdispatch.types import (
    Actor,
    ClaimedRun,
    CommentAnswer,
    Decision,
    Explanation,
    GateCounter,
    IssueWrite,
    Outcome,
    Preview,
    QueueDepth,
    ReasonCode,
    RunStatus,
    Swept,
    Ticked,
    Transition,
)
from pgdispatch.worker import Done, HandBack, JobFailed, Worker

__all__ = [
    "Actor",
    "AsyncDispatch",
    "BrokenInvariant",
    "ClaimedRun",
    "CommentAnswer",
    "Conflict",
    "Decision",
    "Dispatch",
    "DispatchError",
    "Done",
    "Explanation",
    "GateCounter",
    "HandBack",
    "InvalidArgument",
    "IssueWrite",
    "JobFailed",
    "NotAllowed",
    "NotFound",
    "Outcome",
    "Preview",
    "QueueDepth",
    "ReasonCode",
    "RunStatus",
    "SchemaMismatch",
    "Swept",
    "Ticked",
    "Transition",
    "Worker",
    "__version__",
]

try:
    __version__ = version("pgdispatch")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"
