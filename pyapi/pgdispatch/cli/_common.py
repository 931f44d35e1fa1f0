"""What the commands share: the options, the two ways to answer, and the exit codes."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

import click
import psycopg

from pgdispatch.errors import DispatchError

FAILED = 1
BEHIND = 3

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def database_options(command: CommandT) -> CommandT:
    """Add --dsn and --json; a subcommand takes over what its group was given."""

    @click.option(
        "--dsn",
        envvar="PGDISPATCH_DSN",
        show_envvar=True,
        metavar="DSN",
        help="Connection string in any form of libpq; libpq's own variables without it.",
    )
    @json_option
    @functools.wraps(command)
    def wrapped(*, dsn: str | None, as_json: bool, **rest: Any) -> Any:
        ctx = click.get_current_context()
        outer = ctx.parent.obj if ctx.parent is not None else None
        given = outer if isinstance(outer, Mapping) else {}
        dsn = dsn or given.get("dsn") or ""
        as_json = as_json or bool(given.get("as_json"))
        ctx.obj = {"dsn": dsn, "as_json": as_json}
        return command(dsn=dsn, as_json=as_json, **rest)

    return wrapped  # type: ignore[return-value]


def json_option(command: CommandT) -> CommandT:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Answer as one JSON object.")(
        command
    )


def answer(as_json: bool, document: Mapping[str, Any], text: str) -> None:
    """Print the answer in the form that was asked for."""
    click.echo(json.dumps(document, ensure_ascii=False, default=str) if as_json else text)


def fail(as_json: bool, message: str, code: int = FAILED) -> NoReturn:
    """Report a failure and end with its code."""
    if as_json:
        click.echo(json.dumps({"error": message}, ensure_ascii=False))
    else:
        click.echo(f"pgdispatch: {message}", err=True)
    sys.exit(code)


def reported(*kinds: type[Exception]) -> Callable[[CommandT], CommandT]:
    """Report errors of the database, and of the kinds named, without a traceback."""

    expected: tuple[type[Exception], ...] = (psycopg.Error, DispatchError, *kinds)

    def decorate(command: CommandT) -> CommandT:
        @functools.wraps(command)
        def wrapped(*arguments: Any, as_json: bool, **rest: Any) -> Any:
            try:
                return command(*arguments, as_json=as_json, **rest)
            except expected as error:
                said = [str(error), *getattr(error, "__notes__", ())]
                fail(as_json, " ".join(" ".join(said).split()))

        return wrapped  # type: ignore[return-value]

    return decorate
