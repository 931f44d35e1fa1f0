"""The migrations as files: what is checked in is what sql/ says, and what was released."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from pgdispatch import schema
from tests.support.servers import REPOSITORY, freeze_copy


def test_the_newest_frozen_copy_of_each_file_equals_the_file() -> None:
    assert schema.unfrozen() == [], "run: pgdispatch dev freeze"


def test_nothing_is_frozen_that_no_file_holds() -> None:
    assert set(schema.frozen_state()) == {file.path for file in schema.load_sql()}


def test_the_migrations_are_what_freezing_writes(tmp_path: Path) -> None:
    freeze_copy(tmp_path)
    kept = schema.migrations_dir()
    for path in sorted(tmp_path.iterdir()):
        assert (kept / path.name).exists(), "run: pgdispatch dev freeze NAME"
        assert (kept / path.name).read_bytes() == path.read_bytes(), "pgdispatch dev freeze"


def test_released_files_are_as_they_were_released() -> None:
    """migrate asks the same before it applies anything; this asks it of each file by name."""
    folder = schema.migrations_dir()
    for line in (folder / "frozen.sha256").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            expected, name = line.split("  ")
            found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
            assert found == expected, f"{name} was released: take the edit back"


def test_only_migrations_stand_among_the_migrations() -> None:
    """yoyo takes every .sql and .py file of the folder for a migration."""
    names = {path.name for path in schema.migrations_dir().iterdir()}
    assert {name for name in names if name.endswith(".py")} == set()
    assert names - {path.name for path in schema.migrations_dir().glob("*.sql")} == {
        "README.md",
        "frozen.sha256",
    }


def test_files_come_in_path_order() -> None:
    paths = [file.path for file in schema.load_sql()]
    assert paths == sorted(paths)
    assert paths[0].startswith("sql/00_schema/")
    assert paths[-1].startswith("sql/90_grants/")


def test_the_whole_schema_is_not_frozen_beside_another_migration(tmp_path: Path) -> None:
    schema.freeze(migrations=tmp_path)
    with pytest.raises(schema.MigrationError, match="0001_core"):
        schema.freeze("0002_more", migrations=tmp_path)
    assert not (tmp_path / "0002_more.sql").exists()


def test_a_file_that_would_run_into_the_next_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "00_schema"
    folder.mkdir()
    (folder / "a.sql").write_text("select 1")
    with pytest.raises(schema.MigrationError, match="newline"):
        schema.render(folder=tmp_path)


def test_the_repository_is_found_without_an_installed_copy() -> None:
    assert schema.sql_dir() == REPOSITORY / "sql"
    assert schema.migrations_dir() == REPOSITORY / "migrations"


def test_the_tests_freeze_what_no_release_has(tmp_path: Path) -> None:
    """The template of the test databases is sql/ as it stands, before and after a release."""
    freeze_copy(tmp_path)
    assert schema.unfrozen(migrations=tmp_path) == []
    assert not any(path.suffix == ".md" for path in tmp_path.iterdir())
    again = tmp_path / "again"
    shutil.copytree(tmp_path, again)
    schema.freeze(migrations=again)
    for path in sorted(again.iterdir()):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()
