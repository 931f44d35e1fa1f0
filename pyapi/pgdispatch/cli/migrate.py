"""`pgdispatch migrate`: bring a database to the newest schema, or say how far it is."""

from __future__ import annotations

import sys
from datetime import timedelta

import click

from pgdispatch import schema
from pgdispatch.cli._common import BEHIND, answer, database_options, reported


@click.group("migrate", invoke_without_command=True)
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
def command(ctx: click.Context, *, dsn: str, as_json: bool, dry_run: bool, wait: float) -> None:
    """Apply the migrations that the database lacks; repeating it changes nothing."""
    if ctx.invoked_subcommand is None:
        _migrate(dsn=dsn, as_json=as_json, dry_run=dry_run, wait=wait)


@reported(schema.MigrationError)
def _migrate(*, dsn: str, as_json: bool, dry_run: bool, wait: float) -> None:
    if dry_run:
        pending = schema.status(dsn).pending
        texts = {name: schema.migration_text(name) for name in pending}
        answer(as_json, {"pending": texts}, "\n".join(texts.values()) or "-- nothing to do")
        return
    done = schema.migrate(dsn, wait=timedelta(seconds=wait))
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
    if found.unknown:
        word = f"unknown to this package: {', '.join(found.unknown)}"
    elif found.pending:
        word = f"behind by {len(found.pending)}: {', '.join(found.pending)}"
    else:
        word = "current"
    answer(
        as_json,
        {
            "version": found.version,
            "current": found.is_current,
            "applied": found.applied,
            "pending": found.pending,
            "unknown": found.unknown,
        },
        f"at {_shown(found.version)}, {word}",
    )
    if not found.is_current:
        sys.exit(BEHIND)


@command.command("rollback")
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_options
@reported(schema.MigrationError)
def rollback(*, dsn: str, as_json: bool, yes: bool) -> None:
    """Undo the newest migration, if nothing would be lost by it."""
    if not yes:
        click.confirm("Undo the newest migration of this database?", abort=True, err=True)
    done = schema.rollback(dsn)
    answer(
        as_json,
        {"from": done.before, "to": done.after, "undone": done.applied},
        f"from {_shown(done.before)} to {_shown(done.after)}",
    )


def _shown(version: str | None) -> str:
    return version if version is not None else "nothing"
