"""`pgdispatch sweep`: end what nobody will end any more."""

from __future__ import annotations

import click

from pgdispatch.cli._common import database_options, reported
from pgdispatch.cli._rounds import SWEEPS, in_turn, opened, sweep_one


@click.command("sweep")
@click.option("--only", type=click.Choice(SWEEPS), help="Make this sweep alone.")
@click.option(
    "--max",
    "most",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    metavar="N",
    help="How many rows a sweep handles at most.",
)
@database_options
@reported()
def command(*, dsn: str, as_json: bool, only: str | None, most: int) -> None:
    """Make the sweeps in their order, each in a transaction of its own."""
    with opened(dsn) as dispatch:
        in_turn(
            as_json,
            [only] if only else SWEEPS,
            ("sweeps", "sweep", "runs"),
            lambda name: sweep_one(dispatch, most, name),
        )
