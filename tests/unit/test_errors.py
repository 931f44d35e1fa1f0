from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

import pgdispatch
from pgdispatch.errors import (
    BY_SQLSTATE,
    BrokenInvariant,
    Conflict,
    DispatchError,
    InvalidArgument,
    NotAllowed,
    NotFound,
    SchemaMismatch,
    translated,
)


def raised(sqlstate: str | None, **diag: str | None) -> psycopg.Error:
    """Make a database error as the server would have sent it."""
    fields = dict.fromkeys(
        ("message_primary", "message_detail", "message_hint", "column_name"), None
    )

    class Sent(psycopg.DatabaseError):
        @property
        def diag(self) -> Any:
            return SimpleNamespace(**{**fields, **diag})

    exc = Sent("sent")
    exc.sqlstate = sqlstate
    return exc


@pytest.mark.parametrize(
    ("sqlstate", "cls"),
    [
        ("PD400", InvalidArgument),
        ("PD403", NotAllowed),
        ("PD404", NotFound),
        ("PD409", Conflict),
        ("PD500", BrokenInvariant),
        ("PD503", SchemaMismatch),
    ],
)
def test_each_sqlstate_has_its_class(sqlstate: str, cls: type[DispatchError]) -> None:
    sent = raised(sqlstate, message_primary="constant phrase")
    with pytest.raises(DispatchError) as caught, translated():
        raise sent
    assert type(caught.value) is cls
    assert caught.value.sqlstate == sqlstate
    assert caught.value.__cause__ is sent
    assert caught.value.message == "constant phrase"
    assert getattr(pgdispatch, cls.__name__) is cls


def test_no_class_is_left_out() -> None:
    assert set(DispatchError.__subclasses__()) == set(BY_SQLSTATE.values())


@pytest.mark.parametrize("sqlstate", ["23505", "40001", "42501", "PD999", "P0001", None])
def test_other_errors_come_through_untouched(sqlstate: str | None) -> None:
    sent = raised(sqlstate)
    with pytest.raises(psycopg.Error) as caught, translated():
        raise sent
    assert caught.value is sent


def test_errors_that_are_no_database_errors_come_through() -> None:
    with pytest.raises(KeyError), translated():
        raise KeyError


def test_all_that_the_server_said_is_kept() -> None:
    error = NotAllowed.from_diagnostic(
        raised(
            "PD403",
            message_primary="actor may not invoke",
            message_detail="invocation_not_allowed",
            message_hint="p_changes.assignee: choose another agent.",
            column_name="p_changes.assignee",
        ).diag
    )
    assert error.column == "p_changes.assignee"
    assert error.field == "changes.assignee"
    assert error.detail == "invocation_not_allowed"
    assert error.reason_code is pgdispatch.ReasonCode.INVOCATION_NOT_ALLOWED
    assert error.hint == "p_changes.assignee: choose another agent."
    assert str(error) == (
        "actor may not invoke [invocation_not_allowed]"
        " (p_changes.assignee: choose another agent.)"
    )


@pytest.mark.parametrize(
    ("hint", "column"),
    [
        ("p_lease: a positive interval.", "p_lease"),
        ("p_wakes[2].priority: an integer.", "p_wakes[2].priority"),
        ("transaction_isolation: call at READ COMMITTED.", "transaction_isolation"),
        ("Try again: it may work.", None),
        ("try this: it may work.", None),
        ("no head at all", None),
        ("", None),
        (None, None),
    ],
)
def test_the_hint_names_the_argument_when_the_column_is_lost(
    hint: str | None, column: str | None
) -> None:
    error = InvalidArgument.from_diagnostic(raised("PD400", message_hint=hint).diag)
    assert error.column == column


def test_empty_parts_are_none() -> None:
    error = NotFound.from_diagnostic(raised("PD404", message_detail="", message_hint="").diag)
    assert (error.detail, error.hint, error.reason_code, error.field) == (None,) * 4
    assert (error.message, str(error)) == ("", "")


def test_a_reason_code_of_a_later_release_is_kept() -> None:
    code = NotAllowed("refused", detail="brand_new").reason_code
    assert code == "brand_new"
    assert code is not None
    assert not code.known


def test_bad_arguments_are_value_errors_too() -> None:
    assert issubclass(InvalidArgument, ValueError)


@pytest.mark.parametrize("cls", BY_SQLSTATE.values())
def test_errors_survive_pickling_and_copying(cls: type[DispatchError]) -> None:
    error = cls("message", column="p_a", detail="paused", hint="p_a: hint")
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is cls
        assert vars(twin) == vars(error)
        assert str(twin) == str(error)
