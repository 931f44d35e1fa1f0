"""The wheel carries the schema and its history, and migrates a database by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pgdispatch import schema
from tests.support.servers import REPOSITORY, Database


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_carries_both_folders(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for file in schema.load_sql():
            packed = archive.read(f"pgdispatch/_{file.path}").decode()
            assert packed == file.text
    for path in schema.migrations_dir().iterdir():
        assert f"pgdispatch/_migrations/{path.name}" in names
    assert "pgdispatch/py.typed" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"pgdispatch"}


def test_an_unpacked_wheel_migrates_without_the_repository(
    wheel: Path, empty_db: Database, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pgdispatch import schema\n"
        "assert schema.sql_dir().is_relative_to(sys.argv[1]), schema.sql_dir()\n"
        "print(*schema.migrate(sys.argv[2]).applied)\n"
        "try:\n"
        "    schema.freeze()\n"
        "except schema.MigrationError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), empty_db.dsn],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [
        "0001_core",
        "an installed package is not frozen anew: work in a checkout",
    ]
