"""`pgdispatch explain`: why an issue is or is not being worked on."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table

from pgdispatch.cli._common import answer, database_options, reported
from pgdispatch.client import Dispatch
from pgdispatch.types import Explanation

#: How a step is marked: by its `ok`, or as the first that is not.
MARKS = {True: "[green]ok[/]", False: "[red]no[/]", None: "[dim]-[/]"}


@click.command("explain")
@click.argument("issue")
@click.option(
    "--workspace",
    required=True,
    type=click.UUID,
    envvar="PGDISPATCH_WORKSPACE",
    show_envvar=True,
    help="The workspace of the issue.",
)
@database_options
@reported()
def command(*, dsn: str, as_json: bool, issue: str, workspace: str) -> None:
    """Explain why ISSUE (its identifier, as ABC-42, or its id) is or is not being worked on.

    One line a step, in the order in which a wake meets them; the first that says no is what the
    issue waits for.
    """
    with Dispatch(dsn, pool_size=1) as dispatch:
        found = dispatch.resolve_issue(workspace, issue)
        steps = dispatch.explain_issue(workspace, found)
    stops = next((step.step for step in steps if step.ok is False), None)
    document = {
        "issue_id": found,
        "stops_at": stops,
        "steps": [
            {
                "step": step.step,
                "ok": step.ok,
                "reason_code": step.reason_code,
                "detail": step.detail,
            }
            for step in steps
        ],
    }
    answer(as_json, document, "" if as_json else _drawn(issue, steps, stops))


def _drawn(issue: str, steps: Sequence[Explanation], stops: str | None) -> str:
    """Draw the steps as a table, and say below what the issue waits for."""
    table = Table("step", "", "reason", "detail", title=issue, title_justify="left")
    for step in steps:
        table.add_row(
            step.step,
            MARKS[step.ok],
            step.reason_code or "",
            ", ".join(f"{key} {value}" for key, value in (step.detail or {}).items()),
        )
    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(table)
        if stops is None:
            console.print("Nothing is in the way.")
        else:
            console.print(f"It stops at: {stops}.")
    return captured.get().rstrip("\n")
