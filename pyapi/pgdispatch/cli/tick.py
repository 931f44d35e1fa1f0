"""`pgdispatch tick`: do what has to be done from time to time."""

from __future__ import annotations

import click

from pgdispatch.cli._common import database_options, reported
from pgdispatch.cli._rounds import STEPS, SWEEPS, in_turn, opened, sweep_one

#: How many rows a sweep handles within a tick.
BATCH = 500


@click.command("tick")
@click.option("--only", type=click.Choice(STEPS), help="Do this step alone.")
@database_options
@reported()
def command(*, dsn: str, as_json: bool, only: str | None) -> None:
    """Replay, promote, sweep and prune, each in a transaction of its own.

    Run it every half minute, in as many places as you like.
    """
    with opened(dsn) as dispatch:

        def do(step: str) -> int:
            if step == "sweep":
                return sum(sweep_one(dispatch, BATCH, name) for name in SWEEPS)
            return sum(row.rows for row in dispatch.tick(step))

        in_turn(as_json, [only] if only else STEPS, ("steps", "step", "rows"), do)
