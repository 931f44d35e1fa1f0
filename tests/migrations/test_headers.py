"""The files as a DBA and a runner read them: headers, limits, and where statements end."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from yoyo.migrations import read_sql_migration

from pgdispatch import schema
from pgdispatch.cli import main
from tests.migrations.support import History, edit
from tests.support.migrations import lint_migrations
from tests.support.servers import REPOSITORY

SECOND, THIRD = "0002_nicknames.sql", "0003_titles.sql"


@pytest.fixture
def folder(history: History, tmp_path: Path) -> Path:
    """A copy of the three migrations, to be spoiled."""
    return Path(shutil.copytree(history.migrations, tmp_path / "migrations"))


def test_nothing_is_found_in_ours() -> None:
    assert lint_migrations(schema.migrations_dir()) == []


def test_nothing_is_found_in_a_history_of_three(folder: Path) -> None:
    assert lint_migrations(folder) == []


@pytest.mark.parametrize(
    ("name", "before", "after", "rule"),
    [
        (SECOND, "-- 0002_nicknames: workspaces", "-- workspaces", "does not begin with"),
        (SECOND, "-- depends: 0001_core", "-- depends: 0001", "depends on 0001, not 0001_core"),
        (SECOND, "ACCESS EXCLUSIVE on workspace", "none", "says that it takes no locks"),
        (SECOND, "-- locks: ACCESS EXCLUSIVE on workspace.  ", "-- ", "no locks:"),
        (SECOND, "duration: instant", "duration: quick", "begins with none of instant"),
        (SECOND, "undo: 0002_nicknames.rollback", "undo: another", "does not name 0002"),
        (SECOND, "set local lock_timeout = '300ms';\n", "", "set local lock_timeout"),
        (SECOND, "set local lock_timeout", "set lock_timeout", "set local lock_timeout"),
        (SECOND, "set local statement_timeout = '1min';\n", "", "set local statement_timeout"),
        (SECOND, "add column nickname text", "add column n text not null", "squawk"),
        (THIRD, "-- transactional: false\n", "", "inside a transaction"),
        (THIRD, "concurrently if not exists", "concurrently", "cannot be run again"),
        (THIRD, "create index concurrently if not exists", "create index", "squawk"),
        (THIRD, "set lock_timeout = '300ms';\n", "", "does not begin with set lock_timeout"),
        (THIRD, "(workspace_id, title);", "(title);\nselect 1;", "holds 2 statements"),
        (
            "0002_nicknames.rollback.sql",
            "set local lock",
            "set lock",
            "rollback: does not begin",
        ),
        ("0003_titles.rollback.sql", "if exists ", "", "rollback: cannot be run again"),
    ],
    ids=[
        "purpose",
        "depends",
        "false-locks",
        "no-locks",
        "duration",
        "undo",
        "no-lock-timeout",
        "session-lock-timeout",
        "no-statement-timeout",
        "not-null-column",
        "transaction",
        "not-repeatable",
        "not-concurrent",
        "no-lock-timeout-alone",
        "two-statements",
        "rollback-timeout",
        "rollback-not-repeatable",
    ],
)
def test_a_spoiled_file_is_found(
    folder: Path, name: str, before: str, after: str, rule: str
) -> None:
    edit(folder / name, before, after)
    findings = lint_migrations(folder)
    if rule == "squawk":
        rule = f"{name}:"
    assert any(rule in finding for finding in findings), findings


def test_a_dropped_public_function_is_said_to_concern_clients(folder: Path) -> None:
    edit(folder / SECOND, "drop function dispatch._outgoing", "drop function dispatch.outgoing")
    assert any("that they keep working" in finding for finding in lint_migrations(folder))


def test_a_missing_rollback_is_found(folder: Path) -> None:
    (folder / "0003_titles.rollback.sql").unlink()
    assert any("no rollback" in finding for finding in lint_migrations(folder))


def test_the_header_is_read_as_it_is_written(history: History) -> None:
    _, second, third = schema.read_migrations(history.migrations)
    assert (second.purpose, second.depends) == ("workspaces get nicknames", ("0001_core",))
    assert second.locks == "ACCESS EXCLUSIVE on workspace"
    assert second.duration == "instant"
    assert second.compat == "clients of 0.1.0 keep working"
    assert second.undo == "0002_nicknames.rollback.sql, which forgets the nicknames"
    assert (second.is_transactional, third.is_transactional) == (True, False)
    assert third.duration == "minutes, grows with issue"


def test_the_runbook_has_a_line_for_each_migration() -> None:
    text = (schema.migrations_dir() / "README.md").read_text("utf-8")
    for each in schema.read_migrations():
        (line,) = re.findall(rf"^\| `{each.name}` \| (.*)$", text, re.M) or [""]
        assert f" {each.duration} " in line, f"no line for {each.name} in migrations/README.md"


def test_the_runbook_names_commands_and_options_that_exist() -> None:
    text = (schema.migrations_dir() / "README.md").read_text("utf-8")
    named = re.findall(r"`?pgdispatch (migrate|dev)( [a-z]+)?((?: --[a-z-]+)*)", text)
    assert len(named) > 10
    for group, command, options in named:
        words = [group, *command.split()]
        found = CliRunner().invoke(main, [*words, "--help"])
        assert found.exit_code == 0, words
        for option in options.split():
            assert option in found.stdout, (words, option)


def bare(statement: str) -> str:
    """A statement without comments before it, blanks around it and the mark at its end."""
    while match := re.match(r"\s+|--[^\n]*(\n|$)", statement):
        statement = statement[match.end() :]
    return statement.rstrip().rstrip(";").rstrip()


@pytest.mark.parametrize("kind", ["sql", "migrations", "history"])
def test_yoyo_ends_statements_where_the_server_does(
    kind: str, history: History, tmp_path: Path
) -> None:
    """yoyo splits with a parser of no particular server; pglast has the server's own."""
    pglast = pytest.importorskip(
        "pglast", reason="pglast, the server's parser, is not installed"
    )
    roots = {
        "sql": REPOSITORY / "sql",
        "migrations": schema.migrations_dir(),
        "history": history.migrations,
    }
    files = sorted(roots[kind].rglob("*.sql"))
    assert files
    for path in files:
        _, _, statements = read_sql_migration(str(path))
        ours = [bare(statement) for statement in statements]
        server = [bare(statement) for statement in pglast.split(path.read_text("utf-8"))]
        assert [each for each in ours if each] == server, path
