"""`pgdispatch tick` and `pgdispatch sweep`: each step in a transaction of its own."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pgdispatch.cli import main
from pgdispatch.cli._rounds import STEPS, SWEEPS
from tests.concurrency.support import make_fleet
from tests.support.servers import Database

HOLD = """
create function public.hold() returns trigger language plpgsql as $$
begin
    raise exception 'held';
end;
$$
"""


def run(db: Database, *arguments: str) -> Result:
    """Call the command line on that database."""
    return CliRunner().invoke(main, [*arguments, "--dsn", db.dsn])


def asked(db: Database, *arguments: str) -> dict[str, Any]:
    """Call it for JSON and see that it succeeds."""
    done = run(db, *arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)
    return found


def expired(db: Database) -> None:
    """Leave one run in the queue for too long."""
    db.set_clock()
    fleet = make_fleet(db)
    with db.connect() as admin:
        fleet.wake(admin)
    db.advance(timedelta(hours=2, seconds=1))


def test_the_names_are_those_of_the_database(db: Database) -> None:
    assert list(STEPS) == db.value("select dispatch._steps()")
    assert list(SWEEPS) == db.value("select dispatch._sweeps()")


def test_a_tick_reports_every_step(db: Database) -> None:
    expired(db)
    # The runtime of the expired run is silent too, and the tick sets it offline.
    assert asked(db, "tick") == {
        "steps": [
            {"step": "replay", "rows": 0},
            {"step": "promote", "rows": 0},
            {"step": "sweep", "rows": 2},
            {"step": "prune", "rows": 0},
        ]
    }
    assert db.value("select r.failure_reason from dispatch.runs as r") == "queued_expired"


def test_sweeps_report_each(db: Database) -> None:
    expired(db)
    found = {each["sweep"]: each["runs"] for each in asked(db, "sweep")["sweeps"]}
    assert found == dict.fromkeys(SWEEPS, 0) | {"runtimes": 1, "queued": 1}


@pytest.mark.parametrize(("command", "only"), [("tick", "promote"), ("sweep", "runtimes")])
def test_only_one_of_them(db: Database, command: str, only: str) -> None:
    expired(db)
    (found,) = asked(db, command, "--only", only).values()
    assert [next(iter(each.values())) for each in found] == [only]
    assert db.value("select r.status::text from dispatch.run as r") == "queued"


def test_the_most_rows_of_a_sweep(db: Database) -> None:
    db.set_clock()
    fleet = make_fleet(db)
    with db.connect() as admin:
        for _ in range(3):
            fleet.wake(admin)
    db.advance(timedelta(hours=3))
    assert asked(db, "sweep", "--max", "2", "--only", "queued") == {
        "sweeps": [{"sweep": "queued", "runs": 2}]
    }
    assert run(db, "sweep", "--max", "0").exit_code == 2


@pytest.mark.parametrize("command", ["tick", "sweep"])
def test_an_unknown_step_is_wrong_usage(db: Database, command: str) -> None:
    assert run(db, command, "--only", "everything").exit_code == 2


@pytest.mark.parametrize(("command", "failing"), [("tick", "sweep"), ("sweep", "runtimes")])
def test_a_step_that_fails_stops_no_other(db: Database, command: str, failing: str) -> None:
    expired(db)
    db.execute(HOLD)
    db.execute(
        "create trigger hold before update on dispatch.runtime"
        " for each row execute function public.hold()"
    )
    done = run(db, command)
    assert done.exit_code == 1
    lines = dict(line.split(maxsplit=1) for line in done.output.splitlines())
    assert lines[failing].startswith("failed: held")
    assert [name for name in lines if "failed" in lines[name]] == [failing]
    assert list(lines) == list(STEPS if command == "tick" else SWEEPS)
    found = json.loads(run(db, command, "--json").output)
    (entries,) = found.values()
    assert [each["error"] for each in entries if "error" in each]


def test_a_server_that_does_not_answer_is_one_error() -> None:
    done = CliRunner().invoke(main, ["tick", "--dsn", "host=/nonexistent", "--json"])
    assert done.exit_code == 1
    assert list(json.loads(done.output)) == ["error"]


@pytest.mark.parametrize("command", ["tick", "sweep"])
def test_an_operator_may(db: Database, command: str) -> None:
    dsn = f"{db.dsn} options='-c role=dispatch_operator'"
    assert CliRunner().invoke(main, [command, "--dsn", dsn]).exit_code == 0
    other = f"{db.dsn} options='-c role=dispatch_worker'"
    assert CliRunner().invoke(main, [command, "--dsn", other]).exit_code == 1
