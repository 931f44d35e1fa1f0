"""`pgdispatch dev`: what those who change the schema need, inside a checkout."""

from __future__ import annotations

import click

from pgdispatch import reference, schema
from pgdispatch.cli._common import answer, json_option, reported


@click.group("dev")
def command() -> None:
    """Tools for changing the schema itself."""


@command.command("freeze")
@click.argument("name", default=schema.CORE)
@json_option
@reported(schema.MigrationError, OSError)
def freeze(*, name: str, as_json: bool) -> None:
    """Write migration NAME, its rollback and frozen.sha256 from sql/."""
    path = schema.freeze(name)
    answer(
        as_json,
        {"migration": str(path), "files": len(schema.load_sql())},
        f"{path}: {len(schema.load_sql())} files of sql/",
    )


@command.command("reference")
@json_option
@reported(schema.MigrationError, OSError)
def write_reference(*, as_json: bool) -> None:
    """Write sql/README.md from the comments in sql/."""
    path = reference.write()
    count = len(list(reference.entries()))
    answer(as_json, {"reference": str(path), "objects": count}, f"{path}: {count} objects")
