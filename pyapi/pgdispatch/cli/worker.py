"""`pgdispatch worker`: executes a command for each run of a daemon's runtimes."""

from __future__ import annotations

import datetime as dt
import logging
import shlex
import shutil
import signal
import uuid
from collections.abc import Sequence

import click

from pgdispatch.cli._common import database_options, reported
from pgdispatch.command import Command
from pgdispatch.worker import MOST_JOBS, Worker


@click.command("worker")
@click.option(
    "--workspace",
    "workspaces",
    type=click.UUID,
    multiple=True,
    required=True,
    help="The workspace to serve; may be repeated, each time before its runtimes.",
)
@click.option(
    "--runtime",
    "runtimes",
    multiple=True,
    required=True,
    metavar="[WORKSPACE/]RUNTIME",
    help="A runtime to serve; with several workspaces, as WORKSPACE/RUNTIME. May be repeated.",
)
@click.option(
    "--exec",
    "command_line",
    required=True,
    metavar="COMMAND",
    help="What each run executes: the run is JSON on its input and PGDISPATCH_* variables.",
)
@click.option(
    "--concurrency",
    default=4,
    show_default=True,
    type=click.IntRange(1, MOST_JOBS),
    help="How many jobs at once, and runs in one claim, at most.",
)
@click.option(
    "--poll",
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look for work that nobody told of.",
)
@click.option(
    "--timeout",
    type=float,
    metavar="SECONDS",
    help="Kill a command that takes longer; its run fails as timeout and is retried.",
)
@click.option("--listen-dsn", metavar="DSN", help="Where to listen, past a transaction pooler.")
@click.option("--no-listen", is_flag=True, help="Look for work every --poll seconds only.")
@click.option(
    "--recover",
    is_flag=True,
    help="Fail and retry what an earlier process of this daemon left; be its only worker.",
)
@database_options
@reported(OSError, ValueError)
def command(
    *,
    dsn: str,
    workspaces: Sequence[uuid.UUID],
    runtimes: Sequence[str],
    command_line: str,
    concurrency: int,
    poll: float,
    timeout: float | None,
    listen_dsn: str | None,
    no_listen: bool,
    recover: bool,
    as_json: bool,
) -> None:
    """Claim runs and execute a command for each, until stopped.

    SIGTERM or Ctrl-C lets the jobs end and claims no more; a second one stops the jobs and
    hands their runs back. Exit code 0 of a command completes its run, any other fails it.

    One claim takes as many runs as there is room for below --concurrency, of any agents of the
    runtimes, and moves them straight to running; it goes in one transaction with the reports
    of the commands that have ended.
    """
    _ = as_json
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    worker = Worker(
        dsn,
        _served(workspaces, runtimes),
        handler=Command(_words(command_line), timeout=timeout),
        listen_dsn=listen_dsn,
        poll_interval=dt.timedelta(seconds=poll),
        concurrency=concurrency,
        listen=not no_listen,
        recover=recover,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    worker.run()


def _served(
    workspaces: Sequence[uuid.UUID], runtimes: Sequence[str]
) -> dict[uuid.UUID | str, list[uuid.UUID | str]]:
    """Give each workspace its runtimes; with one workspace they need not name it."""
    served: dict[uuid.UUID | str, list[uuid.UUID | str]] = {each: [] for each in workspaces}
    for text in runtimes:
        head, slash, tail = text.rpartition("/")
        try:
            runtime = uuid.UUID(tail)
            workspace = uuid.UUID(head) if slash else workspaces[0]
        except ValueError as error:
            raise click.BadParameter(f"{text} is no uuid", param_hint="--runtime") from error
        if workspace not in served or (not slash and len(served) > 1):
            raise click.BadParameter(
                f"{text} belongs to none of the workspaces: write WORKSPACE/RUNTIME",
                param_hint="--runtime",
            )
        served[workspace].append(runtime)
    for each, found in served.items():
        if not found:
            raise click.BadParameter(f"no runtime of {each}", param_hint="--runtime")
    return served


def _words(command_line: str) -> list[str]:
    """Take a command line apart; refuse one whose command does not exist."""
    try:
        words = shlex.split(command_line)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--exec") from error
    if not words or shutil.which(words[0]) is None:
        raise click.BadParameter(f"there is no command {command_line!r}", param_hint="--exec")
    return words
