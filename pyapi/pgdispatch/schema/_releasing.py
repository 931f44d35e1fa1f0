"""The step of a release: from then on its migrations are fixed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pgdispatch.schema._files import (
    SUMS,
    MigrationError,
    check_released,
    is_packaged,
    migrations_dir,
    released_sums,
    sha256,
)
from pgdispatch.schema._freezing import SUMS_HEADER, unfrozen

UNRELEASED = "## Unreleased\n"


@dataclass(frozen=True, slots=True)
class Released:
    """What a release fixed."""

    version: str
    migrations: tuple[str, ...]


def frozen_sums(migrations: Path | None = None) -> str:
    """Sum every migration and rollback, in the form that `sha256sum --check` reads."""
    return "".join(
        f"{sha256(path.read_text('utf-8'))}  {path.name}\n"
        for path in sorted((migrations or migrations_dir()).glob("*.sql"))
    )


def release(version: str, day: date, *, root: Path | None = None) -> Released:
    """Fix the migrations that are new, and write version and date where a release has them.

    `root` is the checkout: pyproject.toml, CHANGELOG.md, sql/ and migrations/ stand in it.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise MigrationError(f"{version} is no version: three numbers, as 0.1.0")
    if root is None and is_packaged(migrations_dir()):
        raise MigrationError("an installed package is not released: work in a checkout")
    root = root or migrations_dir().parent
    folder = root / "migrations"
    check_released(folder)
    sums = released_sums(folder)
    if version in sums:
        raise MigrationError(f"{version} was released before")
    stale = unfrozen(root / "sql", folder)
    if stale:
        raise MigrationError(f"{', '.join(stale)} changed: pgdispatch dev freeze first")
    project, changelog = root / "pyproject.toml", root / "CHANGELOG.md"
    settings, log = project.read_text("utf-8"), changelog.read_text("utf-8")
    if log.count(UNRELEASED) != 1:
        raise MigrationError("CHANGELOG.md has no part that is unreleased")

    fixed = {name for files in sums.values() for name in files}
    new = [
        line for line in frozen_sums(folder).splitlines() if line.split("  ")[1] not in fixed
    ]
    path = folder / SUMS
    kept = path.read_text("utf-8") if path.exists() else SUMS_HEADER
    path.write_text(kept + "\n".join([f"\n# {version}", *new]) + "\n", "utf-8")
    changelog.write_text(log.replace(UNRELEASED, f"## {version} - {day}\n"), "utf-8")
    project.write_text(
        re.sub(r'^version = ".*"$', f'version = "{version}"', settings, count=1, flags=re.M),
        "utf-8",
    )
    names = [line.split("  ")[1] for line in new]
    return Released(
        version,
        tuple(name.removesuffix(".sql") for name in names if ".rollback" not in name),
    )
