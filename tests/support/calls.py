"""The declared calls, and valid arguments for each of them."""

from __future__ import annotations

import datetime as dt
import inspect
import typing
import uuid
from collections.abc import Callable
from typing import Any

from pgdispatch import Dispatch, _calls
from pgdispatch._calls import Call
from pgdispatch.types import Id

WS = uuid.UUID("0190f7a0-0000-7000-8000-000000000001")
AGENT = uuid.UUID("0190f7a0-0000-7000-8000-000000000002")
ZERO = uuid.UUID(int=0)
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)

Declared = Callable[..., Call[Any]]

CALLS: dict[str, Declared] = {
    name: getattr(_calls, name)
    for name in vars(Dispatch)
    if not name.startswith("_") and name not in {"call", "close", "transaction"}
}

SAMPLES: dict[object, object] = {
    Id: WS,
    str: "text",
    int: 1,
    bool: True,
    dt.datetime: NOON,
    dt.timedelta: dt.timedelta(seconds=30),
    typing.Mapping[str, object]: {"title": "T"},
    typing.Iterable[Id]: [WS],
    typing.Iterable[typing.Mapping[str, object]]: [{"run_id": WS}],
    typing.Any: {"k": 1},
}


def hint_of(declared: Declared, name: str) -> tuple[object, bool]:
    """Give an argument's type without None, and whether None belongs to it."""
    hint = typing.get_type_hints(declared)[name]
    parts = typing.get_args(hint) if typing.get_origin(hint) is not None else ()
    if type(None) not in parts:
        return hint, hint is Any and name == "result"
    rest = [part for part in parts if part is not type(None)]
    return (Id if len(rest) == 2 else rest[0]), True


def sample(declared: Declared) -> dict[str, Any]:
    """Make valid arguments for a call, all of them given."""
    given = {}
    for name in inspect.signature(declared).parameters:
        hint, _ = hint_of(declared, name)
        for known, value in SAMPLES.items():
            if hint == known or str(hint).split(".")[-1] == str(known).split(".")[-1]:
                given[name] = value
                break
        else:
            raise AssertionError(f"no sample for {name}: {hint}")
    return given
