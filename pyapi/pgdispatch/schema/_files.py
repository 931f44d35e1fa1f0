"""The files: `sql/`, the migrations with their headers, and which of them were released."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

#: The migration that makes the whole schema; until the first release it is the only one.
CORE = "0001_core"

#: The sums of the released migrations, under a heading for each release.
SUMS = "frozen.sha256"

_PACKAGE = Path(__file__).resolve().parent.parent
_FIELD = re.compile(
    r"(?:^|\s{2})(depends|transactional|locks|duration|compat|undo):", re.MULTILINE
)
_SUM = re.compile(r"^(?P<sum>[0-9a-f]{64})  (?P<name>\S+)$")


class MigrationError(RuntimeError):
    """The schema cannot be migrated, frozen or compared; the message says what to do."""


@dataclass(frozen=True, slots=True)
class SqlFile:
    """One file of sql/: its path as the repository has it, and its text."""

    path: str
    text: str

    @property
    def sum(self) -> str:
        """The SHA-256 of the text."""
        return sha256(self.text)


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration: its text, and what its header says to whoever has to apply it."""

    name: str
    text: str
    purpose: str
    depends: tuple[str, ...]
    locks: str
    duration: str
    compat: str
    undo: str
    is_transactional: bool


def sha256(text: str) -> str:
    """Sum a text as `sha256sum` sums its file."""
    return hashlib.sha256(text.encode()).hexdigest()


def sql_dir() -> Path:
    """The folder sql/: inside the installed package, else the repository's."""
    return _folder("_sql", "sql")


def migrations_dir() -> Path:
    """The folder migrations/: inside the installed package, else the repository's."""
    return _folder("_migrations", "migrations")


def is_packaged(folder: Path) -> bool:
    """Tell the installed package's folder of migrations from one that may be written."""
    return folder == _PACKAGE / "_migrations"


def _folder(packaged: str, repository: str) -> Path:
    for candidate in (_PACKAGE / packaged, _PACKAGE.parent.parent / repository):
        if candidate.is_dir():
            return candidate
    raise MigrationError(
        f"neither {packaged} in the package nor {repository}/ beside it exists"
    )


def load_sql(folder: Path | None = None) -> list[SqlFile]:
    """Read every file of sql/ in path order, which is the order to apply them in."""
    root = folder or sql_dir()
    paths = sorted(root.rglob("*.sql"), key=lambda path: path.relative_to(root).as_posix())
    return [
        SqlFile(f"sql/{path.relative_to(root).as_posix()}", path.read_text("utf-8"))
        for path in paths
    ]


def apply_sql(connection: psycopg.Connection[Any], folder: Path | None = None) -> None:
    """Apply sql/ to an empty database in one transaction, without any bookkeeping."""
    with connection.transaction():
        connection.execute("set local check_function_bodies = off")
        connection.execute("set local search_path = ''")
        for file in load_sql(folder):
            try:
                connection.execute(file.text.encode())
            except psycopg.Error as error:
                error.add_note(f"in {file.path}")
                raise


# --- migrations -----------------------------------------------------------------------------


def forward_files(folder: Path) -> list[Path]:
    """List the migrations of a folder in their order, without their rollbacks."""
    return [path for path in sorted(folder.glob("*.sql")) if ".rollback" not in path.name]


def read_migrations(folder: Path | None = None) -> list[Migration]:
    """Read every migration with its header, in the order to apply them in."""
    return [
        parse_migration(path.stem, path.read_text("utf-8"))
        for path in forward_files(folder or migrations_dir())
    ]


def parse_migration(name: str, text: str) -> Migration:
    """Read the header of a migration: the comment that it begins with."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    title = lines[0] if lines else ""
    purpose = title.removeprefix(f"{name}:").strip() if title.startswith(f"{name}:") else ""
    parts = _FIELD.split("\n".join(lines))
    fields = {
        key: " ".join(value.split())
        for key, value in zip(parts[1::2], parts[2::2], strict=True)
    }
    return Migration(
        name=name,
        text=text,
        purpose=purpose,
        depends=tuple(fields.get("depends", "").split()),
        locks=fields.get("locks", "").rstrip("."),
        duration=fields.get("duration", "").rstrip("."),
        compat=fields.get("compat", "").rstrip("."),
        undo=fields.get("undo", "").rstrip("."),
        is_transactional=fields.get("transactional", "true").lower() == "true",
    )


def rollback_path(folder: Path, name: str) -> Path:
    """The file that undoes a migration."""
    return folder / f"{name}.rollback.sql"


# --- releases -------------------------------------------------------------------------------


def released_sums(folder: Path) -> dict[str, dict[str, str]]:
    """Read frozen.sha256: for each release the files that came with it, and their sums."""
    path = folder / SUMS
    if not path.exists():
        return {}
    releases: dict[str, dict[str, str]] = {}
    version: str | None = None
    for line in path.read_text("utf-8").splitlines():
        found = _SUM.match(line)
        if found is None:
            heading = re.fullmatch(r"# (\d+\.\d+\.\d+\S*)", line)
            if heading:
                version = heading[1]
                releases[version] = {}
        elif version is None:
            raise MigrationError(
                f"{SUMS} sums {found['name']} under no release: "
                "only pgdispatch dev release writes there"
            )
        else:
            releases[version][found["name"]] = found["sum"]
    return releases


def released_migrations(folder: Path | None = None) -> dict[str, str]:
    """Name the release that each released migration first came with."""
    return {
        name.removesuffix(".sql"): version
        for version, sums in released_sums(folder or migrations_dir()).items()
        for name in sums
        if not name.endswith(".rollback.sql")
    }


def version_of_release(release: str, folder: Path) -> str | None:
    """Name the newest migration that a release has; None when there is no such release."""
    newest = None
    for version, sums in released_sums(folder).items():
        names = [name for name in sums if not name.endswith(".rollback.sql")]
        newest = max([newest or "", *(name.removesuffix(".sql") for name in names)]) or None
        if version == release:
            return newest
    return None


def check_released(folder: Path) -> None:
    """Raise MigrationError when a released file is not what it was at its release."""
    for version, sums in released_sums(folder).items():
        for name, expected in sums.items():
            path = folder / name
            if not path.exists() or sha256(path.read_text("utf-8")) != expected:
                raise MigrationError(
                    f"{name} was released with {version} and is fixed since: "
                    "take the edit back and add a migration"
                )
