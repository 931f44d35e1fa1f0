"""Warnings of the functions become records of the logger `pgdispatch`."""

from __future__ import annotations

import json
import logging
import threading
import weakref
from typing import Any

import psycopg

logger = logging.getLogger("pgdispatch")

# Connections that have the handler. Weak, so that a pool's turnover leaves nothing behind.
_watched: weakref.WeakSet[psycopg.Connection[Any] | psycopg.AsyncConnection[Any]] = (
    weakref.WeakSet()
)
_watching = threading.Lock()


def watch(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """Log the warnings that arrive on the connection; the second time changes nothing."""
    with _watching:
        if conn not in _watched:
            conn.add_notice_handler(log_warning)
            _watched.add(conn)


def log_warning(diag: psycopg.errors.Diagnostic) -> None:
    """Log a warning whose DETAIL is a JSON object; other notices are none of ours.

    The record's message is the constant text of the warning, also found as `event`; `detail`
    is the decoded object.
    """
    if diag.severity_nonlocalized != "WARNING" or not diag.message_detail:
        return
    try:
        detail = json.loads(diag.message_detail)
    except ValueError:
        return
    if isinstance(detail, dict):
        event = diag.message_primary or ""
        logger.warning("%s", event, extra={"event": event, "detail": detail})
