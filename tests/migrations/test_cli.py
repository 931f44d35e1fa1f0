"""The commands: what they print, and the code that they end with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pgdispatch import schema
from pgdispatch.cli import main
from tests.migrations.support import NAMES, NEWEST
from tests.support.servers import Database


def run(*arguments: str, **rest: Any) -> Result:
    return CliRunner().invoke(main, arguments, **rest)


def test_migrate_and_status_by_their_codes_and_words(empty_db: Database) -> None:
    behind = run("migrate", "status", "--dsn", empty_db.dsn)
    assert behind.exit_code == 3
    assert behind.stdout == f"at nothing, behind by {len(NAMES)}: {', '.join(NAMES)}\n"

    first = run("migrate", "--dsn", empty_db.dsn)
    assert first.exit_code == 0
    assert first.stdout == f"from nothing to {NEWEST}: applied {', '.join(NAMES)}\n"

    again = run("migrate", "--dsn", empty_db.dsn)
    assert again.exit_code == 0
    assert again.stdout == f"from {NEWEST} to {NEWEST}: nothing to do\n"

    current = run("migrate", "status", "--dsn", empty_db.dsn)
    assert current.exit_code == 0
    assert current.stdout == f"at {NEWEST}, current\n"


def test_the_same_as_json(empty_db: Database) -> None:
    behind = run("migrate", "status", "--json", "--dsn", empty_db.dsn)
    assert behind.exit_code == 3
    assert json.loads(behind.stdout) == {
        "version": None,
        "current": False,
        "applied": [],
        "pending": list(NAMES),
        "unknown": [],
    }
    done = run("migrate", "--json", "--dsn", empty_db.dsn)
    assert json.loads(done.stdout) == {
        "from": None,
        "to": NEWEST,
        "applied": list(NAMES),
    }


def test_the_group_hands_its_options_down(empty_db: Database) -> None:
    found = run("migrate", "--json", "--dsn", empty_db.dsn, "status")
    assert found.exit_code == 3
    assert json.loads(found.stdout)["pending"] == list(NAMES)


def test_the_dsn_comes_from_the_environment_and_the_option_wins(empty_db: Database) -> None:
    found = run("migrate", "status", env={"PGDISPATCH_DSN": empty_db.dsn})
    assert found.exit_code == 3
    found = run(
        "migrate", "status", "--dsn", empty_db.dsn, env={"PGDISPATCH_DSN": "host=/nowhere"}
    )
    assert found.exit_code == 3


def test_a_dry_run_prints_the_sql_and_applies_nothing(empty_db: Database) -> None:
    found = run("migrate", "--dry-run", "--dsn", empty_db.dsn)
    assert found.exit_code == 0
    assert found.stdout.startswith("-- 0001_core:")
    assert run("migrate", "status", "--dsn", empty_db.dsn).exit_code == 3


def test_a_plan_says_what_each_migration_means(empty_db: Database) -> None:
    found = run("migrate", "--plan", "--dsn", empty_db.dsn)
    assert found.exit_code == 0
    counted = f"{len(NAMES)} migration{'s' if len(NAMES) > 1 else ''}"
    assert found.stdout.splitlines()[:7] == [
        f"from nothing to {NEWEST}, {counted}",
        "",
        "0001_core: the whole schema, frozen from sql/",
        "  locks     none on tables, all of them are new",
        "  duration  instant, under a second for all of it",
        "  compat    there is no older client",
        "  undo      0001_core.rollback.sql, refused while the schema holds anything",
    ]
    planned, *rest = json.loads(
        run("migrate", "--plan", "--json", "--dsn", empty_db.dsn).stdout
    )["pending"]
    assert [planned["name"], *(each["name"] for each in rest)] == list(NAMES)
    assert planned["locks"] == "none on tables, all of them are new"
    assert run("migrate", "status", "--dsn", empty_db.dsn).exit_code == 3
    run("migrate", "--dsn", empty_db.dsn)
    again = run("migrate", "--plan", "--dsn", empty_db.dsn)
    assert again.stdout == f"at {NEWEST}, nothing to do\n"


def test_check_names_what_has_drifted_and_ends_with_3(empty_db: Database) -> None:
    assert run("migrate", "check", "--dsn", empty_db.dsn).exit_code == 3
    run("migrate", "--dsn", empty_db.dsn)
    clean = run("migrate", "check", "--dsn", empty_db.dsn)
    assert clean.exit_code == 0
    assert clean.stdout == f"at {NEWEST}, current: no drift\n"

    empty_db.execute("drop index dispatch.run_due_idx")
    empty_db.execute("create table dispatch.stray (id uuid)")
    empty_db.execute("grant select on dispatch.run to dispatch_reader")
    drifted = run("migrate", "check", "--dsn", empty_db.dsn)
    assert drifted.exit_code == 3
    assert drifted.stdout.splitlines() == [
        "extra      column stray.id",
        "missing    index run_due_idx",
        "different  table run",
        *[line for line in drifted.stdout.splitlines() if line.startswith("    grants: ")],
        "extra      table stray",
        f"at {NEWEST}, current: 4 objects not as the migrations made them",
    ]
    assert "dispatch_reader=SELECT" in drifted.stdout
    found = json.loads(run("migrate", "check", "--json", "--dsn", empty_db.dsn).stdout)
    assert [(each["kind"], each["object"]) for each in found["differences"]] == [
        ("extra", "column stray.id"),
        ("missing", "index run_due_idx"),
        ("different", "table run"),
        ("extra", "table stray"),
    ]


def test_sql_prints_a_script_without_a_database() -> None:
    found = run("migrate", "sql", "--from", "nothing", "--to", "0001")
    assert found.exit_code == 0
    assert found.stdout == schema.script(None, "0001_core")
    assert json.loads(run("migrate", "sql", "--json").stdout) == {"sql": schema.script()}
    wrong = run("migrate", "sql", "--to", "0009")
    assert wrong.exit_code == 1
    assert wrong.stderr.startswith("pgdispatch: no version 0009")


def test_down_asks_first(empty_db: Database) -> None:
    run("migrate", "--dsn", empty_db.dsn)
    refused = run("migrate", "down", "--dsn", empty_db.dsn, input="n\n")
    assert refused.exit_code == 1
    assert run("migrate", "status", "--dsn", empty_db.dsn).exit_code == 0
    done = run("migrate", "down", "--yes", "--dsn", empty_db.dsn)
    assert done.exit_code == 0
    assert done.stdout == f"from {NEWEST} to {NAMES[-2] if len(NAMES) > 1 else 'nothing'}\n"


@pytest.mark.parametrize("dsn", ["host=/nowhere", "no dsn at all", "postgresql://[::1"])
def test_a_database_out_of_reach_is_a_failure_without_a_traceback(dsn: str) -> None:
    plain = run("migrate", "--dsn", dsn)
    assert plain.exit_code == 1
    assert plain.stderr.startswith("pgdispatch: ")
    assert "Traceback" not in plain.output
    as_json = run("migrate", "status", "--json", "--dsn", dsn)
    assert as_json.exit_code == 1
    assert list(json.loads(as_json.stdout)) == ["error"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["migrate", "--nonsense"],
        ["migrate", "--wait", "-1"],
        ["migrate", "--plan", "--dry-run"],
    ],
)
def test_wrong_usage_has_its_own_code(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_every_command_is_listed_with_help() -> None:
    listed = run("--help")
    assert listed.exit_code == 0
    for name in ("migrate", "dev"):
        assert name in listed.stdout
