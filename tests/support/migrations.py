"""Lint the migrations: the header that a DBA reads, limits on locks, and what squawk finds.

`python -m tests.support.migrations` prints every finding.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import sqlparse

from pgdispatch import schema
from tests.support.servers import REPOSITORY

#: How long a migration takes, in words that a DBA can plan with.
DURATIONS = ("instant", "seconds", "minutes", "hours")

_TAKES_LOCKS = re.compile(
    r"^(alter table|create (unique )?index|drop (table|index)|reindex|update|delete)\b",
    re.MULTILINE,
)
_DROPS_PUBLIC = re.compile(r"^drop (function|view) dispatch\.(?!_)\w+", re.MULTILINE)
_WRITTEN = re.compile(r"^-- written by .*?^-- end of what .*?$", re.MULTILINE | re.DOTALL)


def statements(text: str) -> list[str]:
    """Split a file as yoyo does, without the comments that lead a statement."""
    bare = [sqlparse.format(part, strip_comments=True).strip() for part in sqlparse.split(text)]
    return [part for part in bare if part]


def lint_migration(
    folder: Path, migration: schema.Migration, before: str | None
) -> Iterator[str]:
    """Give the rules that a migration or its rollback breaks."""
    if not migration.purpose:
        yield f"does not begin with -- {migration.name}: and what it is for"
    if migration.depends != ((before,) if before else ()):
        yield f"depends on {' '.join(migration.depends)}, not {before or 'nothing'}"
    for field in ("locks", "duration", "compat", "undo"):
        if not getattr(migration, field):
            yield f"no {field}: in its header"
    if not migration.duration.startswith(DURATIONS):
        yield f"its duration begins with none of {', '.join(DURATIONS)}"
    by_hand = _WRITTEN.sub("", migration.text)
    if (
        before is not None
        and migration.locks.startswith("none")
        and _TAKES_LOCKS.search(by_hand)
    ):
        yield "its header says that it takes no locks"
    if migration.compat.endswith("keep working") and _DROPS_PUBLIC.search(migration.text):
        yield "drops what clients may call, and says that they keep working"
    rollback = folder / f"{migration.name}.rollback.sql"
    if not migration.undo.startswith(rollback.name):
        yield f"undo: does not name {rollback.name}"
    yield from _lint_statements("", migration.text, migration.is_transactional)
    if rollback.exists():
        text = rollback.read_text("utf-8")
        yield from _lint_statements("rollback: ", text, migration.is_transactional)
    else:
        yield "no rollback; one that cannot be raises 'irreversible'"


def _lint_statements(where: str, text: str, is_transactional: bool) -> Iterator[str]:
    found = statements(text)
    scope = "set local" if is_transactional else "set"
    for limit in ("lock_timeout", "statement_timeout"):
        if not any(part.startswith(f"{scope} {limit} = ") for part in found[:2]):
            yield f"{where}does not begin with {scope} {limit}"
    work = [part for part in found if not part.startswith("set ")]
    if is_transactional:
        if any(re.match(r"(create|drop|reindex).* concurrently\b", part) for part in work):
            yield f"{where}builds concurrently inside a transaction"
    elif len(work) != 1:
        yield f"{where}holds {len(work)} statements outside of a transaction, not one"
    elif not re.search(r"\bif (not )?exists\b", work[0]):
        yield f"{where}cannot be run again: if exists, or if not exists"


def squawk(folder: Path) -> list[str]:
    """Give what squawk finds, by whether the runner opens a transaction around the file."""
    program = shutil.which("squawk", path=str(Path(sys.executable).parent)) or shutil.which(
        "squawk"
    )
    if program is None:
        raise FileNotFoundError("squawk is not installed: pip install 'pgdispatch[dev]'")
    findings: list[str] = []
    for is_transactional in (True, False):
        files = [
            str(path)
            for each in schema.read_migrations(folder)
            if each.is_transactional == is_transactional
            for path in (folder / f"{each.name}.sql", folder / f"{each.name}.rollback.sql")
            if path.exists()
        ]
        if not files:
            continue
        assumed = ["--assume-in-transaction"] if is_transactional else []
        done = subprocess.run(
            [
                program,
                "--config",
                str(REPOSITORY / ".squawk.toml"),
                "--reporter",
                "gcc",
                *assumed,
                *files,
            ],
            capture_output=True,
            check=False,
            text=True,
        )
        findings += done.stdout.splitlines()
        if done.returncode not in (0, 1) or (done.returncode and not done.stdout):
            raise RuntimeError(f"squawk: {done.stderr}")
    return findings


def lint_migrations(folder: Path) -> list[str]:
    """Lint every migration of a folder, alone and with squawk."""
    known = schema.read_migrations(folder)
    befores = [None, *(older.name for older, _ in pairwise(known))]
    return [
        f"{migration.name}: {rule}"
        for migration, before in zip(known, befores, strict=True)
        for rule in lint_migration(folder, migration, before)
    ] + squawk(folder)


def main() -> int:
    """Print every finding; 1 when there is one."""
    findings = lint_migrations(schema.migrations_dir())
    for finding in findings:
        print(finding)
    print(
        f"migrations: {len(findings)} findings" if findings else "migrations: all checks passed"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
