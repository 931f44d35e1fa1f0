from __future__ import annotations

import gc
import json
import logging
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from pgdispatch import _logging

Notice = Any


def sent(
    severity: str = "WARNING", message: str = "allowance exhausted", detail: str | None = None
) -> Notice:
    """Make what a notice handler is called with."""
    return SimpleNamespace(
        severity_nonlocalized=severity, message_primary=message, message_detail=detail
    )


class Conn:
    """Stands for a connection: collects the handlers that it is given."""

    def __init__(self) -> None:
        self.handlers: list[Any] = []

    def add_notice_handler(self, handler: object) -> None:
        self.handlers.append(handler)


def test_a_warning_becomes_a_record(caplog: pytest.LogCaptureFixture) -> None:
    detail = {"task_id": "t", "observed": 5, "name": "in the way of a record's own"}
    with caplog.at_level(logging.WARNING, "pgdispatch"):
        _logging.log_warning(sent(message="100% exhausted", detail=json.dumps(detail)))
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("pgdispatch", logging.WARNING)
    assert record.getMessage() == "100% exhausted"
    assert vars(record)["event"] == "100% exhausted"
    assert vars(record)["detail"] == detail


@pytest.mark.parametrize(
    "other",
    [
        sent("NOTICE", detail="{}"),
        sent(detail=None),
        sent(detail=""),
        sent(detail="no json"),
        sent(detail="[1]"),
        sent(detail="5"),
    ],
)
def test_other_notices_are_left_alone(other: Notice, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "pgdispatch"):
        _logging.log_warning(other)
    assert caplog.records == []


def test_a_connection_gets_one_handler() -> None:
    one, two = Conn(), Conn()
    for conn in (one, one, two, one):
        _logging.watch(conn)  # type: ignore[arg-type]
    assert one.handlers == two.handlers == [_logging.log_warning]


def test_a_watched_connection_can_be_collected() -> None:
    conn = Conn()
    _logging.watch(conn)  # type: ignore[arg-type]
    gone = weakref.ref(conn)
    del conn
    gc.collect()
    assert gone() is None


def test_the_logger_has_no_handler_of_ours() -> None:
    assert logging.getLogger("pgdispatch").handlers == []
