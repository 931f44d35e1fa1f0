"""The migrations as files: what is checked in is what sql/ says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgdispatch import schema
from tests.support.servers import REPOSITORY


def test_the_newest_frozen_copy_of_each_file_equals_the_file() -> None:
    copies = schema.frozen_copies()
    stale = [file.path for file in schema.load_sql() if copies.get(file.path) != file.text]
    assert not stale, "run: pgdispatch dev freeze"


def test_nothing_is_frozen_that_no_file_holds() -> None:
    assert set(schema.frozen_copies()) == {file.path for file in schema.load_sql()}


def test_the_migration_is_what_freezing_writes(tmp_path: Path) -> None:
    schema.freeze(migrations=tmp_path)
    for path in sorted(tmp_path.iterdir()):
        kept = schema.migrations_dir() / path.name
        assert kept.read_bytes() == path.read_bytes(), "run: pgdispatch dev freeze"


def test_the_sums_match_the_migrations() -> None:
    kept = (schema.migrations_dir() / "frozen.sha256").read_text("utf-8")
    assert kept == schema.frozen_sums()


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
