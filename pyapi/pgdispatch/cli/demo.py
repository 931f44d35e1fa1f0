"""`pgdispatch demo`: real files become issues, two daemons do them, the claims are checked."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import click
from rich.console import Console

from pgdispatch.cli._common import FAILED, fail, json_option, reported
from pgdispatch.demo import show
from pgdispatch.demo.processes import DaemonFailed
from pgdispatch.embedded import EmbeddedServerError
from pgdispatch.schema import MigrationError

SIGNAL_CODE = 128


@click.command("demo")
@click.option(
    "--dir",
    "folder",
    envvar="DEMO_DIR",
    show_envvar=True,
    default=".",
    show_default=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder whose files become issues: a checkout's tracked files, else all.",
)
@click.option(
    "--exec",
    "command_line",
    envvar="DEMO_EXEC",
    show_envvar=True,
    metavar="COMMAND",
    help="What each run executes, the file's path appended; a small analysis without it.",
)
@click.option(
    "--limit",
    envvar="DEMO_LIMIT",
    show_envvar=True,
    default=600,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many files at most.",
)
@click.option(
    "--crash/--no-crash",
    "has_crash",
    envvar="DEMO_CRASH",
    show_envvar=True,
    default=True,
    show_default=True,
    help="Whether a daemon is killed in the middle and another process takes over.",
)
@json_option
@reported(show.DemoError, DaemonFailed, EmbeddedServerError, MigrationError, OSError)
def command(
    *, folder: Path, command_line: str | None, limit: int, has_crash: bool, as_json: bool
) -> None:
    """Turn files into issues, have two daemons do them, and check what was promised.

    Starts a private server and leaves nothing behind. Exits 0 when every promise was kept,
    whether or not commands failed, and 1 when one was broken.
    """
    options = show.Options(folder, _words(command_line), limit, has_crash)
    console = Console(quiet=as_json)
    try:
        report = show.run(options, console)
    except show.Ended as signal:
        if not as_json:
            click.echo(f"pgdispatch: {signal}: everything is stopped and removed", err=True)
        sys.exit(SIGNAL_CODE + signal.number)
    if as_json:
        click.echo(json.dumps(report.document(), ensure_ascii=False, default=str))
    if not report.is_good:
        broken = ", ".join(check.promise for check in report.checks if not check.holds)
        if as_json:
            sys.exit(FAILED)
        fail(as_json, f"broken: {broken}")


def _words(command_line: str | None) -> tuple[str, ...] | None:
    """Take a command line apart; refuse one whose command does not exist."""
    if command_line is None or not command_line.strip():
        return None
    try:
        words = tuple(shlex.split(command_line))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--exec") from error
    if shutil.which(words[0]) is None:
        raise click.BadParameter(f"there is no command {words[0]}", param_hint="--exec")
    return words
