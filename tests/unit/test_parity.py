from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import pytest

import pgdispatch
from pgdispatch import AsyncDispatch, Dispatch, _calls
from pgdispatch._calls import Call

HANDLING = {"call", "close", "transaction"}


def public(cls: type[Any]) -> list[str]:
    return [name for name in vars(cls) if not name.startswith("_")]


CALLS = [name for name in public(Dispatch) if name not in HANDLING]


def parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any, Any]]:
    return [
        (each.name, each.kind, each.default, each.annotation)
        for each in inspect.signature(function).parameters.values()
    ]


def test_the_two_clients_have_the_same_methods_in_the_same_order() -> None:
    assert public(Dispatch) == public(AsyncDispatch)
    assert set(public(Dispatch)) >= HANDLING


def test_every_declared_call_is_a_method() -> None:
    declared = [
        name
        for name, each in vars(_calls).items()
        if inspect.isfunction(each)
        and str(inspect.signature(each).return_annotation).startswith("Call[")
        and not name.startswith("_")
    ]
    assert declared == CALLS


@pytest.mark.parametrize("name", CALLS)
def test_a_method_is_the_same_in_both(name: str) -> None:
    blocking, waiting = getattr(Dispatch, name), getattr(AsyncDispatch, name)
    assert not inspect.iscoroutinefunction(blocking)
    assert inspect.iscoroutinefunction(waiting)
    assert parameters(blocking) == parameters(waiting)
    assert (
        inspect.signature(blocking).return_annotation
        == inspect.signature(waiting).return_annotation
    )
    assert blocking.__doc__ == waiting.__doc__
    assert blocking.__name__ == waiting.__name__ == name
    assert blocking.__qualname__ == f"Dispatch.{name}"
    assert waiting.__qualname__ == f"AsyncDispatch.{name}"


@pytest.mark.parametrize("name", CALLS)
def test_a_method_says_what_its_declaration_says(name: str) -> None:
    method, declared = getattr(Dispatch, name), getattr(_calls, name)
    assert parameters(method)[1:] == parameters(declared)
    answer = typing.get_type_hints(method)["return"]
    assert typing.get_type_hints(declared)["return"] == Call[answer]  # type: ignore[valid-type]
    assert method.__doc__
    assert method.__doc__.split("\n\n")[0].endswith((".", ".\n    "))


@pytest.mark.parametrize("name", ["__init__", *sorted(HANDLING)])
def test_the_handling_of_connections_is_the_same_in_both(name: str) -> None:
    blocking, waiting = getattr(Dispatch, name), getattr(AsyncDispatch, name)
    assert [each[:3] for each in parameters(blocking)] == [
        each[:3] for each in parameters(waiting)
    ]
    assert blocking.__doc__ == waiting.__doc__
    assert blocking.__doc__


def test_all_exports_exist_and_are_documented() -> None:
    assert pgdispatch.__all__ == sorted(pgdispatch.__all__)
    for name in pgdispatch.__all__:
        assert getattr(pgdispatch, name).__doc__
