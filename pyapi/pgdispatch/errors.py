"""One exception class per SQLSTATE that the functions raise on purpose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import psycopg

from pgdispatch.types import ReasonCode

# The head of a HINT that names an argument: one word, perhaps with a path behind it.
_HEAD = re.compile(r"([a-z_][^\s:]*):")


class DispatchError(Exception):
    """Base of every error that a dispatch function raises on purpose.

    `message` is constant, so that logs group by it. `column` is the argument as SQL spells it
    (`p_changes.status`), `field` the same as Python does (`changes.status`). `detail` is a
    bare reason code or None.
    """

    sqlstate: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        column: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.detail = detail
        self.hint = hint

    @classmethod
    def from_diagnostic(cls, diag: psycopg.errors.Diagnostic) -> Self:
        """Read what the server sent.

        COLUMN is lost when an error passes from one server to another and HINT is not, so
        HINT repeats the argument at its head.
        """
        head = _HEAD.match(diag.message_hint or "")
        return cls(
            diag.message_primary or "",
            column=diag.column_name or (head[1] if head else None),
            detail=diag.message_detail or None,
            hint=diag.message_hint or None,
        )

    @property
    def field(self) -> str | None:
        """The argument at fault as the Python methods name it."""
        return None if self.column is None else self.column.removeprefix("p_")

    @property
    def reason_code(self) -> ReasonCode | None:
        """The reason code, where the error carries one."""
        return None if self.detail is None else ReasonCode.read(self.detail)

    def __str__(self) -> str:
        """Give the message, the reason code and the hint in one line."""
        text = self.message if self.detail is None else f"{self.message} [{self.detail}]"
        return text if self.hint is None else f"{text} ({self.hint})"

    def __reduce__(self) -> tuple[Callable[..., DispatchError], tuple[Any, ...]]:
        """Pickle with all attributes; the default way drops the keyword arguments."""
        return _rebuild, (type(self), self.message, self.column, self.detail, self.hint)


class InvalidArgument(DispatchError, ValueError):
    """An argument is missing, malformed or out of range; nothing was written."""

    sqlstate = "PD400"


class NotAllowed(DispatchError):
    """The actor may not do this; nothing was written."""

    sqlstate = "PD403"


class NotFound(DispatchError):
    """The workspace has no such thing."""

    sqlstate = "PD404"


class Conflict(DispatchError):
    """Another transaction got in the way, several times; the same call may succeed later."""

    sqlstate = "PD409"


class BrokenInvariant(DispatchError):
    """The stored data contradicts itself; the transaction must not be committed."""

    sqlstate = "PD500"


class SchemaMismatch(DispatchError):
    """The schema is too old, too new or not set up for this release."""

    sqlstate = "PD503"


BY_SQLSTATE: dict[str, type[DispatchError]] = {
    cls.sqlstate: cls
    for cls in (
        InvalidArgument,
        NotAllowed,
        NotFound,
        Conflict,
        BrokenInvariant,
        SchemaMismatch,
    )
}


def _rebuild(
    cls: type[DispatchError],
    message: str,
    column: str | None,
    detail: str | None,
    hint: str | None,
) -> DispatchError:
    return cls(message, column=column, detail=detail, hint=hint)


@contextmanager
def translated() -> Iterator[None]:
    """Turn our SQLSTATEs into their classes; let every other database error through."""
    try:
        yield
    except psycopg.Error as exc:
        cls = BY_SQLSTATE.get(exc.sqlstate or "")
        if cls is None:
            raise
        raise cls.from_diagnostic(exc.diag) from exc
