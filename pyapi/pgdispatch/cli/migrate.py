"""`pgdispatch migrate`: bring a database to the newest schema, or say how far it is."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import timedelta

import click
import psycopg

from pgdispatch import schema
from pgdispatch.cli._common import (
    BEHIND,
    FAILED,
    answer,
    database_options,
    fail,
    json_option,
    reported,
)


@click.group("migrate", invoke_without_command=True)
@click.option("--plan", is_flag=True, help="Say what would be applied and what it means.")
@click.option("--dry-run", is_flag=True, help="Print the SQL that would be applied.")
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=schema.LOCK_WAIT.total_seconds(),
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for another migrator.",
)
@database_options
@click.pass_context
def command(
    ctx: click.Context, *, dsn: str, as_json: bool, plan: bool, dry_run: bool, wait: float
) -> None:
    """Apply the migrations that the database lacks; repeating it changes nothing."""
    if ctx.invoked_subcommand is not None:
        return
    if plan and dry_run:
        raise click.UsageError("--plan and --dry-run: take one")
    if plan:
        _plan(dsn=dsn, as_json=as_json)
    elif dry_run:
        _dry_run(dsn=dsn, as_json=as_json)
    else:
        _migrate(dsn=dsn, as_json=as_json, wait=wait)


@reported(schema.MigrationError)
def _plan(*, dsn: str, as_json: bool) -> None:
    before, pending = _pending(dsn)
    missing = _missing_rights(dsn) if pending else None
    lines = [
        f"from {_shown(before)} to {pending[-1].name}, {_counted(len(pending), 'migration')}"
        if pending
        else f"at {_shown(before)}, nothing to do"
    ]
    for each in pending:
        lines += [
            "",
            f"{each.name}: {each.purpose}",
            f"  locks     {each.locks}",
            f"  duration  {each.duration}",
            f"  compat    {each.compat}",
            f"  undo      {each.undo}",
        ]
    if missing is not None:
        lines += ["", f"first, for the DBA of {missing.login}:"]
        lines += [f"  {statement}" for statement in missing.statements]
    shown = ("name", "purpose", "locks", "duration", "compat", "undo", "is_transactional")
    answer(
        as_json,
        {
            "from": before,
            "to": pending[-1].name if pending else before,
            "statements": missing.statements if missing is not None else (),
            "pending": [{key: asdict(each)[key] for key in shown} for each in pending],
        },
        "\n".join(lines),
    )


@reported(schema.MigrationError)
def _dry_run(*, dsn: str, as_json: bool) -> None:
    _, pending = _pending(dsn)
    answer(
        as_json,
        {"pending": {each.name: each.text for each in pending}},
        "\n".join(each.text for each in pending) or "-- nothing to do",
    )


def _pending(dsn: str) -> tuple[str | None, list[schema.Migration]]:
    found = schema.status(dsn)
    return found.version, [
        each for each in schema.read_migrations() if each.name in found.pending
    ]


def _missing_rights(dsn: str) -> schema.MissingRights | None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return schema.missing_rights(connection)


@reported(schema.MigrationError)
def _migrate(*, dsn: str, as_json: bool, wait: float) -> None:
    try:
        done = schema.migrate(dsn, wait=timedelta(seconds=wait))
    except schema.MissingRights as error:
        # The statements are to be copied: one a line, on the output that is no error's.
        if not as_json:
            click.echo("\n".join(error.statements))
            fail(as_json, error.message)
        answer(as_json, {"error": error.message, "statements": error.statements}, "")
        sys.exit(FAILED)
    answer(
        as_json,
        {"from": done.before, "to": done.after, "applied": done.applied},
        f"from {_shown(done.before)} to {_shown(done.after)}: "
        + (f"applied {', '.join(done.applied)}" if done.applied else "nothing to do"),
    )


@command.command("status")
@database_options
@reported(schema.MigrationError)
def status(*, dsn: str, as_json: bool) -> None:
    """Say which migrations the database has and lacks; exit 3 unless it is current."""
    found = schema.status(dsn)
    answer(
        as_json,
        {
            "version": found.version,
            "current": found.is_current,
            "applied": found.applied,
            "pending": found.pending,
            "unknown": found.unknown,
        },
        f"at {_shown(found.version)}, {_standing(found)}",
    )
    if not found.is_current:
        sys.exit(BEHIND)


@command.command("check")
@click.option(
    "--against",
    metavar="DSN",
    help="A database that this version migrated, to compare with; then this one is only read.",
)
@database_options
@reported(schema.MigrationError)
def check(*, dsn: str, as_json: bool, against: str | None) -> None:
    """Compare the database with what its migrations make; exit 3 where it differs.

    Names each object that is missing, extra, or different in definition, grants or comment.
    Without --against it takes the rights of a migrator: what the migrations make is made once
    more in a transaction that is taken back, and locks no table that is in use.
    """
    drift = schema.find_drift(dsn, against=against)
    count = len(drift.differences)
    told = (
        f"{_counted(count, 'object')} not as the migrations made them" if count else "no drift"
    )
    answer(
        as_json,
        {
            "version": drift.status.version,
            "current": drift.status.is_current,
            "pending": drift.status.pending,
            "differences": [
                {
                    "object": each.object,
                    "kind": each.kind,
                    "facets": each.facets,
                    "expected": each.expected,
                    "found": each.found,
                }
                for each in drift.differences
            ],
        },
        "\n".join(
            [
                *(line for each in drift.differences for line in each.lines()),
                f"at {_shown(drift.status.version)}, {_standing(drift.status)}: {told}",
            ]
        ),
    )
    if count or not drift.status.is_current:
        sys.exit(BEHIND)


@command.command("sql")
@click.option(
    "--from",
    "start",
    metavar="VERSION",
    help="What the database has: a migration, its number, a release, or nothing (as without).",
)
@click.option(
    "--to", "end", metavar="VERSION", help="What it shall have; the newest when left out."
)
@json_option
@reported(schema.MigrationError)
def print_sql(*, as_json: bool, start: str | None, end: str | None) -> None:
    """Print one script that migrates, with its records, for a tool of the DBA's own.

    No database is asked. The script asks at each step whether the database is where the step
    begins, so that it changes nothing where it does not belong. An older --to undoes.
    """
    text = schema.script(start, end)
    answer(as_json, {"sql": text}, text.removesuffix("\n"))


@command.command("down")
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_options
@reported(schema.MigrationError)
def down(*, dsn: str, as_json: bool, yes: bool) -> None:
    """Undo the newest migration, if nothing would be lost by it."""
    if not yes:
        click.confirm("Undo the newest migration of this database?", abort=True, err=True)
    done = schema.rollback(dsn)
    answer(
        as_json,
        {"from": done.before, "to": done.after, "undone": done.applied},
        f"from {_shown(done.before)} to {_shown(done.after)}",
    )


def _standing(found: schema.Status) -> str:
    if found.unknown:
        return f"unknown to this package: {', '.join(found.unknown)}"
    if found.pending:
        return f"behind by {len(found.pending)}: {', '.join(found.pending)}"
    return "current"


def _shown(version: str | None) -> str:
    return version if version is not None else "nothing"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
