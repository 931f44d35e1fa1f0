"""Freezing after a release: what goes into the next migration, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pgdispatch import schema
from pgdispatch.cli import main
from tests.migrations.support import History, change_sql, edit, make_project

SECOND = "0002_nicknames"


@pytest.fixture
def project(history: History, tmp_path: Path) -> Path:
    """A copy of the history's project, to be changed."""
    return Path(shutil.copytree(history.root, tmp_path / "project"))


@pytest.fixture
def released(history: History, tmp_path: Path) -> Path:
    """A project right after its first release."""
    root = tmp_path / "released"
    (root / "migrations").mkdir(parents=True)
    shutil.copytree(history.old_sql, root / "sql")
    history.copy(root / "migrations", "0001_core")
    return root


def freeze(root: Path, name: str | None = None) -> schema.Frozen:
    return schema.freeze(name, folder=root / "sql", migrations=root / "migrations")


def test_freezing_after_a_release_changes_nothing_released(history: History) -> None:
    assert schema.unfrozen(history.sql, history.migrations) == []
    assert schema.released_migrations(history.migrations) == {"0001_core": "0.1.0"}
    text = (history.migrations / "0001_core.sql").read_text("utf-8")
    assert text == schema.render(folder=history.old_sql)


def test_a_second_migration_holds_what_changed_and_the_grants(history: History) -> None:
    text = (history.migrations / f"{SECOND}.sql").read_text("utf-8")
    grants = sorted(f"sql/90_grants/{path.name}" for path in history.sql.glob("90_grants/*"))
    assert re.findall("^-- begin (.*)$", text, re.M) == [
        "sql/30_functions/clock/_later.sql",
        "sql/30_functions/clock/_sooner.sql",
        "sql/30_functions/clock/key_limit.sql",
        "sql/50_views/names.sql",
        *grants,
    ]
    assert re.findall("^drop .*$", text, re.M) == [
        "drop function dispatch._outgoing(interval);",
        "drop function dispatch._sooner(interval);",
    ]
    assert re.findall("^-- no more: (.*)$", text, re.M) == [
        "sql/30_functions/clock/_outgoing.sql"
    ]
    assert re.findall("^-- by hand: (\\S+) ", text, re.M) == ["sql/20_tables/10_workspace.sql"]
    for name in ("_later", "_sooner", "key_limit"):
        file = history.sql / "30_functions" / "clock" / f"{name}.sql"
        assert file.read_text("utf-8") in text


def test_its_rollback_holds_what_there_was(history: History) -> None:
    text = (history.migrations / f"{SECOND}.rollback.sql").read_text("utf-8")
    for name in ("_outgoing", "_sooner", "key_limit"):
        file = history.old_sql / "30_functions" / "clock" / f"{name}.sql"
        assert file.read_text("utf-8") in text
    assert re.findall("^drop .*$", text, re.M) == [
        "drop view dispatch.names;",
        "drop function dispatch._sooner(interval, integer);",
        "drop function dispatch._later(interval);",
    ]


def test_freezing_again_keeps_what_hands_wrote(project: Path) -> None:
    before = {path.name: path.read_text() for path in (project / "migrations").iterdir()}
    done = freeze(project)
    assert done.path == project / "migrations" / "0003_titles.sql"
    assert done.by_hand == ("sql/20_tables/30_issue.sql",)
    after = {path.name: path.read_text() for path in (project / "migrations").iterdir()}
    assert after == before


def test_what_is_taken_back_leaves_the_migration(released: Path) -> None:
    file = released / "sql" / "30_functions" / "clock" / "key_limit.sql"
    old = file.read_text("utf-8")
    edit(file, "as $fn$\n", "as $fn$\n-- In bytes.\n")
    done = freeze(released, "key_limit")
    assert done.path is not None
    assert "In bytes" in done.path.read_text("utf-8")
    file.write_text(old, "utf-8")
    assert freeze(released).copied == ()
    assert "-- begin" not in done.path.read_text("utf-8")


def test_nothing_changed_is_nothing_to_freeze(released: Path) -> None:
    assert freeze(released) == schema.Frozen(None, (), (), ())


def test_a_change_after_a_release_needs_a_new_migration(released: Path) -> None:
    change_sql(released)
    with pytest.raises(schema.MigrationError, match=r"key_limit\.sql.*dev freeze NAME"):
        freeze(released)
    with pytest.raises(schema.MigrationError, match="lower-case words"):
        freeze(released, "Add Things")
    with pytest.raises(schema.MigrationError, match="lower-case words"):
        freeze(released, "0007_gap")
    with pytest.raises(schema.MigrationError, match="was released"):
        freeze(released, "0001_core")
    names = {path.name for path in (released / "migrations").glob("*.sql")}
    assert names == {"0001_core.sql", "0001_core.rollback.sql"}
    done = freeze(released, "0002_nicknames")
    assert done.by_hand == ("sql/20_tables/10_workspace.sql",)
    assert done.gone == ("sql/30_functions/clock/_outgoing.sql",)


def test_an_older_unreleased_migration_is_fixed_too(project: Path) -> None:
    with pytest.raises(schema.MigrationError, match="not the newest"):
        freeze(project, SECOND)


def test_functions_do_not_go_into_a_file_without_a_transaction(project: Path) -> None:
    edit(
        project / "sql" / "30_functions" / "clock" / "_later.sql",
        "select p_by;",
        "select p_by + p_by;",
    )
    with pytest.raises(schema.MigrationError, match="outside of a transaction"):
        freeze(project)
    done = freeze(project, "later")
    assert done.path == project / "migrations" / "0004_later.sql"
    assert "sql/30_functions/clock/_later.sql" in done.copied


def test_a_rollback_without_marks_is_written_by_hand(project: Path) -> None:
    path = project / "migrations" / "0003_titles.rollback.sql"
    before = path.read_text("utf-8")
    freeze(project)
    assert path.read_text("utf-8") == before


@pytest.mark.parametrize("name", ["0001_core.sql", "0001_core.rollback.sql"])
def test_the_sums_detect_an_edited_file(project: Path, name: str) -> None:
    path = project / "migrations" / name
    path.write_text(path.read_text("utf-8") + "-- edited\n", "utf-8")
    with pytest.raises(schema.MigrationError, match=f"{name} was released with 0.1.0"):
        freeze(project)
    with pytest.raises(schema.MigrationError, match=f"{name} was released with 0.1.0"):
        schema.release("0.2.0", date(2030, 2, 1), root=project)
    with pytest.raises(schema.MigrationError, match=f"{name} was released with 0.1.0"):
        schema.migrate("host=/nowhere", migrations=project / "migrations")
    path.unlink()
    with pytest.raises(schema.MigrationError, match=f"{name} was released with 0.1.0"):
        freeze(project)


def test_sha256sum_reads_the_sums(history: History) -> None:
    program = shutil.which("sha256sum")
    if program is None:
        pytest.skip("sha256sum is not installed")
    done = subprocess.run(
        [program, "--check", "--strict", "frozen.sha256"],
        cwd=history.migrations,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0001_core.rollback.sql: OK\n0001_core.sql: OK\n"


def test_a_release_fixes_what_is_new_and_writes_its_name(project: Path) -> None:
    done = schema.release("0.2.0", date(2030, 2, 1), root=add_unreleased(project))
    assert done == schema.Released("0.2.0", (SECOND, "0003_titles"))
    assert schema.released_migrations(project / "migrations") == {
        "0001_core": "0.1.0",
        SECOND: "0.2.0",
        "0003_titles": "0.2.0",
    }
    assert 'version = "0.2.0"' in (project / "pyproject.toml").read_text()
    log = (project / "CHANGELOG.md").read_text()
    assert "## 0.2.0 - 2030-02-01\n\n- Nicknames.\n\n## 0.1.0 - 2030-01-15\n" in log
    with pytest.raises(schema.MigrationError, match="released before"):
        schema.release("0.2.0", date(2030, 2, 1), root=add_unreleased(project))


def test_the_commands_say_what_was_done(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_freezing", "_releasing", "_files"):
        name = f"pgdispatch.schema.{module}.migrations_dir"
        monkeypatch.setattr(name, lambda: project / "migrations")
    monkeypatch.setattr("pgdispatch.schema._files.sql_dir", lambda: project / "sql")

    def dev(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["dev", *arguments])

    frozen = dev("freeze")
    assert frozen.exit_code == 0
    assert frozen.stdout.splitlines() == [
        f"{project}/migrations/0003_titles.sql: 0 files of sql/",
        "by hand, above or below what was written: sql/20_tables/30_issue.sql",
    ]
    refused = dev("release", "0.2.0")
    assert refused.exit_code == 1
    assert refused.stderr.startswith("pgdispatch: CHANGELOG.md has no part")
    add_unreleased(project)
    made = dev("release", "0.2.0", "--date", "2030-02-01")
    assert made.exit_code == 0
    assert made.stdout.splitlines() == [
        "0.2.0, 2030-02-01: fixed 0002_nicknames, 0003_titles",
        "look at the diff, then: git commit --all && git tag v0.2.0",
    ]
    assert dev("freeze").stdout == "nothing to freeze\n"
    assert json.loads(dev("freeze", "--json").stdout)["migration"] is None


def test_a_release_without_a_migration_is_one_too(released: Path) -> None:
    (released / "pyproject.toml").write_text('version = "0.1.0"\n')
    (released / "CHANGELOG.md").write_text("# Changelog\n")
    done = schema.release("0.1.1", date(2030, 2, 1), root=add_unreleased(released))
    assert done == schema.Released("0.1.1", ())
    text = schema.script("0.1.1", "0.1.0", migrations=released / "migrations")
    assert text.startswith("-- pgdispatch: from 0001_core to 0001_core\n")


def test_what_is_not_frozen_is_not_released(project: Path) -> None:
    edit(project / "sql" / "30_functions" / "clock" / "_later.sql", "less", "more")
    with pytest.raises(schema.MigrationError, match="dev freeze first"):
        schema.release("0.2.0", date(2030, 2, 1), root=add_unreleased(project))
    with pytest.raises(schema.MigrationError, match="no version"):
        schema.release("next", date(2030, 2, 1), root=project)


def test_a_release_needs_a_part_of_the_changelog(project: Path) -> None:
    with pytest.raises(schema.MigrationError, match=r"CHANGELOG\.md"):
        schema.release("0.2.0", date(2030, 2, 1), root=project)


def test_sums_under_no_release_are_refused(tmp_path: Path) -> None:
    make_project(tmp_path)
    folder = tmp_path / "migrations"
    (folder / "frozen.sha256").write_text(schema.frozen_sums(folder))
    with pytest.raises(schema.MigrationError, match="under no release"):
        freeze(tmp_path)


def add_unreleased(root: Path) -> Path:
    path = root / "CHANGELOG.md"
    text = path.read_text("utf-8")
    path.write_text(
        text.replace("# Changelog\n", "# Changelog\n\n## Unreleased\n\n- Nicknames.\n", 1),
        "utf-8",
    )
    return root
