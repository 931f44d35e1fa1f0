"""Turns what callers give into what SQL takes, and refuses the rest before any SQL is sent."""

from __future__ import annotations

import datetime as dt
import functools
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import psycopg.types.json

from pgdispatch.errors import InvalidArgument

_UUID = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.I)
_NO_ID = uuid.UUID(int=0)
_INTEGER = range(-(2**31), 2**31)
# The seconds of an interval literal are read as an integer of four bytes.
_LONGEST = dt.timedelta(seconds=2**31 - 1)
# In JSON text: an escaped NUL, which an even number of backslashes may precede.
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
# What PostgreSQL's text cannot hold: NUL, and halves of surrogate pairs.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"

# Members of batch elements that are ids, and those that have unstorable characters replaced.
_ELEMENT_IDS = frozenset(
    {
        "acting_run_id",
        "actor_id",
        "agent_id",
        "chat_session_id",
        "issue_id",
        "originator_id",
        "run_id",
    }
)
_ELEMENT_REPORTS = frozenset({"error", "handoff_note", "result"})


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call: its name without `p_`, its SQL type, and a checked value."""

    name: str
    type: str
    value: object


def refuse(name: str, message: str, advice: str) -> NoReturn:
    """Raise the error that the function itself raises for a bad argument."""
    column = f"p_{name}"
    raise InvalidArgument(message, column=column, hint=f"{column}: {advice}")


def missing(name: str) -> NoReturn:
    """Refuse None where a value is needed."""
    refuse(name, "argument missing", "give a value, not None.")


def required_id(name: str, value: object) -> Argument:
    """Take an id that has to be there and may not be all zero."""
    if value is None:
        missing(name)
    return optional_id(name, value)


def optional_id(name: str, value: object) -> Argument:
    """Take an id that may be left out but not be all zero."""
    given = None if value is None else _id(name, value)
    if given == _NO_ID:
        refuse(name, "id is all zero", "the all-zero uuid names nothing.")
    return Argument(name, "uuid", given)


def ids(name: str, value: object) -> Argument:
    """Take a list of ids, where one that is all zero is merely unknown."""
    return Argument(
        name,
        "uuid[]",
        [_id(f"{name}[{at}]", each) for at, each in enumerate(_list(name, value))],
    )


def optional_ids(name: str, value: object) -> Argument:
    """Take a list of ids, or nothing for all of them."""
    return Argument(name, "uuid[]", None) if value is None else ids(name, value)


def text(name: str, value: object) -> Argument:
    """Take a text that has to be there."""
    if value is None:
        missing(name)
    return optional_text(name, value)


def optional_text(name: str, value: object) -> Argument:
    """Take a text that may be left out."""
    return Argument(name, "text", None if value is None else _text(name, value))


def report_text(name: str, value: object) -> Argument:
    """Take a text of a report: what the database cannot store is replaced, never refused."""
    given = None if value is None else _UNSTORABLE.sub(_REPLACEMENT, _plain(name, value))
    return Argument(name, "text", given)


def integer(name: str, value: object) -> Argument:
    """Take a whole number that has to be there."""
    if value is None:
        missing(name)
    return optional_integer(name, value)


def optional_integer(name: str, value: object) -> Argument:
    """Take a whole number that may be left out."""
    if value is not None:
        if not isinstance(value, int) or isinstance(value, bool):
            refuse(name, "value is no integer", "give an int.")
        if value not in _INTEGER:
            refuse(name, "value out of range", "an integer of four bytes.")
    return Argument(name, "integer", value)


def boolean(name: str, value: object) -> Argument:
    """Take a truth value; nothing else is read as one."""
    if value is None:
        missing(name)
    if not isinstance(value, bool):
        refuse(name, "value is no boolean", "give True or False.")
    return Argument(name, "boolean", value)


def instant(name: str, value: object) -> Argument:
    """Take a time that has to be there and has to know its zone."""
    if value is None:
        missing(name)
    return optional_instant(name, value)


def optional_instant(name: str, value: object) -> Argument:
    """Take a time that may be left out but has to know its zone."""
    return Argument(name, "timestamptz", None if value is None else _instant(name, value))


def optional_interval(name: str, value: object) -> Argument:
    """Take a length of time that may be left out."""
    return Argument(name, "interval", None if value is None else _interval(name, value))


def document(name: str, value: object) -> Argument:
    """Take a JSON value that has to be there; `Jsonb(None)` is JSON's own null."""
    if value is None:
        missing(name)
    return Argument(name, "jsonb", _json(name, value, replace=False))


def report_document(name: str, value: object) -> Argument:
    """Take the JSON value of a report: what the database cannot store is replaced."""
    return Argument(name, "jsonb", None if value is None else _json(name, value, replace=True))


def changes(name: str, value: object) -> Argument:
    """Take an object whose members are fields; an error names the member."""
    if value is None:
        missing(name)
    if not isinstance(value, Mapping):
        refuse(name, "value is no object", "give a mapping of fields.")
    return Argument(name, "jsonb", _object(name, value))


def batch(name: str, value: object) -> Argument:
    """Take a list of objects that hold the arguments of one call each.

    Ids, times and lengths of time may be Python's own here as in a single call. Members that
    are missing, unknown or of a wrong shape are left to the function, which names them.
    """
    elements = [
        _object(f"{name}[{at}]", each)
        if isinstance(each, Mapping)
        else _json(f"{name}[{at}]", each, replace=False)
        for at, each in enumerate(_list(name, value))
    ]
    return Argument(name, "jsonb", f"[{','.join(elements)}]")


def _list(name: str, value: object) -> list[Any]:
    if value is None:
        missing(name)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        refuse(name, "value is no list", "give a list.")
    return list(value)


def _id(name: str, value: object) -> uuid.UUID:
    if isinstance(value, uuid.UUID):
        return value
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        refuse(name, "value is no uuid", "give a uuid.UUID or its text.")
    return uuid.UUID(value)


def _plain(name: str, value: object) -> str:
    """Give the text itself; members of string enumerations would be sent by their names."""
    if not isinstance(value, str):
        refuse(name, "value is no text", "give a str.")
    return str.__str__(value)


def _text(name: str, value: object) -> str:
    given = _plain(name, value)
    if _UNSTORABLE.search(given):
        refuse(name, "text cannot be stored", "leave out NUL and unpaired surrogates.")
    return given


def _instant(name: str, value: object) -> dt.datetime:
    if not isinstance(value, dt.datetime):
        refuse(name, "value is no time", "give a datetime with a time zone.")
    if value.utcoffset() is None:
        refuse(name, "time without zone", "give a datetime with a time zone.")
    return value


def _interval(name: str, value: object) -> str:
    """Write a length of time in seconds: a day of an interval is not always 24 hours."""
    if not isinstance(value, dt.timedelta):
        refuse(name, "value is no interval", "give a timedelta.")
    if abs(value) > _LONGEST:
        refuse(name, "value out of range", "at most 68 years.")
    seconds, micros = divmod(abs(value) // dt.timedelta(microseconds=1), 10**6)
    return f"{'-' if value < dt.timedelta() else ''}{seconds}.{micros:06} seconds"


def _member(name: str, key: str, value: object) -> str:
    if isinstance(value, dt.timedelta):
        return f'"{_interval(name, value)}"'
    if isinstance(value, uuid.UUID) or (key in _ELEMENT_IDS and isinstance(value, str)):
        return f'"{_id(name, value)}"'
    return _json(name, value, replace=key in _ELEMENT_REPORTS)


@functools.lru_cache(maxsize=256)
def _known_key(key: str) -> str | None:
    """Write a member's key, if it can be; those of a batch are the same few again and again."""
    try:
        return _json("key", key, replace=False)
    except InvalidArgument:
        return None


def _object(name: str, value: Mapping[str, object]) -> str:
    """Write an object member by member, so that an error can name the member."""
    members = []
    for key, each in value.items():
        if not isinstance(key, str):
            refuse(name, "value is no json", "give an object whose keys are texts.")
        label = _known_key(key) or _json(name, key, replace=False)
        members.append(f"{label}:{_member(f'{name}.{key}', key, each)}")
    return f"{{{','.join(members)}}}"


class _ZonelessTimeError(ValueError):
    """A time in a JSON document has no zone."""


def _other(item: object) -> object:
    """Give what JSON can hold for a value that it does not know."""
    if isinstance(item, Mapping):
        return dict(item)
    if isinstance(item, uuid.UUID):
        return str(item)
    if isinstance(item, dt.datetime):
        if item.utcoffset() is None:
            raise _ZonelessTimeError
        return item.isoformat()
    raise TypeError(f"a value of type {type(item).__name__}")


_ENCODER = json.JSONEncoder(default=_other, allow_nan=False, ensure_ascii=False)


def _json(name: str, value: object, *, replace: bool) -> str:
    if isinstance(value, psycopg.types.json.Json | psycopg.types.json.Jsonb):
        value = value.obj
    try:
        written = _ENCODER.encode(value)
    except _ZonelessTimeError:
        refuse(name, "time without zone", "give a datetime with a time zone.")
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidArgument(
            "value is no json", column=f"p_{name}", hint=f"p_{name}: cannot be written: {exc}"
        ) from exc

    # Writing escapes NUL, so its escaped form is looked for; surrogates stand as they are.
    if not replace and (_ESCAPED_NUL.search(written) or _UNSTORABLE.search(written)):
        refuse(name, "text cannot be stored", "leave out NUL and unpaired surrogates.")
    if replace:
        written = _ESCAPED_NUL.sub(rf"\1{_REPLACEMENT}", written)
        written = _UNSTORABLE.sub(_REPLACEMENT, written)
    return written
