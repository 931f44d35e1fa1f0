"""`pgdispatch dev`: what those who change the schema need, inside a checkout."""

from __future__ import annotations

from datetime import UTC, date, datetime

import click

from pgdispatch import reference, schema
from pgdispatch.cli._common import answer, json_option, reported


@click.group("dev")
def command() -> None:
    """Tools for changing the schema itself."""


@command.command("freeze")
@click.argument("name", required=False)
@json_option
@reported(schema.MigrationError, OSError)
def freeze(*, name: str | None, as_json: bool) -> None:
    """Write what changed in sql/ into the migration that is not released yet.

    Until the first release that is the one migration, written whole. After it, NAME begins
    another migration; without it the newest is written anew.
    """
    done = schema.freeze(name)
    said = [
        f"{done.path}: {len(done.copied)} files of sql/" if done.path else "nothing to freeze"
    ]
    said += [f"by hand, above or below what was written: {path}" for path in done.by_hand]
    answer(
        as_json,
        {
            "migration": str(done.path) if done.path else None,
            "files": len(done.copied),
            "by_hand": done.by_hand,
            "gone": done.gone,
        },
        "\n".join(said),
    )


@command.command("release")
@click.argument("version")
@click.option(
    "--date",
    "day",
    type=click.DateTime(["%Y-%m-%d"]),
    help="The day of the release; today in UTC when left out.",
)
@json_option
@reported(schema.MigrationError, OSError)
def release(*, version: str, day: datetime | None, as_json: bool) -> None:
    """Make the release VERSION: fix its migrations, write its version and its date.

    Writes migrations/frozen.sha256, pyproject.toml and CHANGELOG.md, and commits nothing.
    """
    on: date = (day or datetime.now(UTC)).date()
    done = schema.release(version, on)
    answer(
        as_json,
        {"version": done.version, "date": on, "migrations": done.migrations},
        f"{done.version}, {on}: fixed {', '.join(done.migrations) or 'no migration'}\n"
        f"look at the diff, then: git commit --all && git tag v{done.version}",
    )


@command.command("reference")
@json_option
@reported(schema.MigrationError, OSError)
def write_reference(*, as_json: bool) -> None:
    """Write sql/README.md from the comments in sql/."""
    path = reference.write()
    count = len(list(reference.entries()))
    answer(as_json, {"reference": str(path), "objects": count}, f"{path}: {count} objects")
