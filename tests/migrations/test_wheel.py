"""The wheel carries the schema and its history, and migrates a database by itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pgdispatch import schema
from tests.migrations.support import NAMES
from tests.support.servers import REPOSITORY, Database

#: What pip says when it reaches no index.
OFFLINE = re.compile(
    r"No matching distribution|NewConnectionError|ConnectionError|Temporary fail"
)


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
        " ".join(NAMES),
        "an installed package is not frozen anew: work in a checkout",
    ]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A venv that holds the wheel and what it requires, and nothing else."""
    venv = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, capture_output=True)
    python = venv / "bin" / "python"
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", f"{wheel}[binary]"],
        capture_output=True,
        check=False,
        text=True,
        cwd=wheel.parent,
    )
    if done.returncode != 0 and OFFLINE.search(done.stderr):
        pytest.skip("no package index is in reach, from which to install what it requires")
    assert done.returncode == 0, done.stderr
    return venv / "bin"


def run(program: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program with nothing of this process's Python about it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [program, *arguments], cwd=cwd, env=kept, capture_output=True, check=False, text=True
    )


def test_an_empty_venv_migrates_an_empty_database(
    installed: Path, empty_db: Database, tmp_path: Path
) -> None:
    command = installed / "pgdispatch"

    def pgdispatch(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run(command, "migrate", *arguments, "--dsn", empty_db.dsn, cwd=tmp_path)

    assert pgdispatch("status").returncode == 3
    planned = pgdispatch("--plan")
    assert planned.returncode == 0, planned.stderr
    done = pgdispatch()
    assert done.returncode == 0, done.stderr
    newest = schema.read_migrations()[-1].name
    assert done.stdout.startswith(f"from nothing to {newest}: ")
    assert pgdispatch("status").returncode == 0
    checked = pgdispatch("check")
    assert (checked.returncode, checked.stdout) == (0, f"at {newest}, current: no drift\n")
    script = run(command, "migrate", "sql", cwd=tmp_path)
    assert script.stdout == schema.script()
    place = run(
        installed / "python",
        "-c",
        "from pgdispatch import schema; print(schema.sql_dir())",
        cwd=tmp_path,
    )
    assert place.stdout.strip().startswith(str(installed.parent))
    assert schema.find_drift(empty_db.dsn).differences == ()
