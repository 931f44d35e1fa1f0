"""Freezing: what `sql/` says goes into the migration that is not released yet.

Until the first release there is one migration, written whole. After it, a file that can be
applied again is copied into the newest migration between markers, and whatever cannot, such
as a table, is changed there by hand: the freezing notes for which state of the file that was
done, and a test compares what both ways make.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgdispatch.schema._core import CORE_HEADER, CORE_ROLLBACK
from pgdispatch.schema._files import (
    CORE,
    SUMS,
    MigrationError,
    SqlFile,
    check_released,
    forward_files,
    is_packaged,
    load_sql,
    migrations_dir,
    parse_migration,
    released_migrations,
    rollback_path,
    sha256,
)

#: Folders of which each file can be applied again over an older state of itself.
FUNCTIONS, VIEWS, GRANTS = "sql/30_functions/", "sql/50_views/", "sql/90_grants/"
REPEATABLE = ("sql/00_schema/", FUNCTIONS, "sql/40_triggers/", VIEWS, GRANTS)

_BEGIN = "-- written by pgdispatch dev freeze\n"
_END = "-- end of what pgdispatch dev freeze wrote\n"
_MARKED = re.compile(
    r"^-- begin (?P<path>sql/\S+)\n(?P<text>.*?)^-- end (?P=path)\n"
    r"|^-- by hand: (?P<changed>sql/\S+) sha256:(?P<sum>[0-9a-f]{64})\n"
    r"|^-- no more: (?P<gone>sql/\S+)\n",
    re.MULTILINE | re.DOTALL,
)
_DECLARED = re.compile(r"^create or replace function (?P<head>.*?)^language\b", re.M | re.S)
_FUNCTION = re.compile(r"^comment on function (?P<signature>dispatch\.\w+\([^)]*\)) is", re.M)
_VIEW = re.compile(r"^create or replace view (?P<name>dispatch\.\w+)", re.M)

_HEADER = f"""\
-- {{name}}: {{purpose}}
-- depends: {{before}}
-- locks: none on tables.  duration: instant.
-- compat: clients of {{version}} keep working.  undo: {{name}}.rollback.sql
set local lock_timeout = '2s';
set local statement_timeout = '1min';

{_BEGIN}{_END}"""

_ROLLBACK_HEADER = f"""\
-- {{name}}.rollback: {{purpose}}, undone
set local lock_timeout = '2s';
set local statement_timeout = '1min';

{_BEGIN}{_END}"""

SUMS_HEADER = """\
# The released migrations, which are fixed; pgdispatch dev release adds what a release brings.
"""

#: Why what a client may have called is dropped nevertheless; a linter asks for a reason.
_CONCERNED = "Which clients this concerns stands above, under compat."

_UNCHECKED = """\
-- Functions name tables and functions that a later file makes.
set local check_function_bodies = off;

"""


@dataclass(frozen=True, slots=True)
class Frozen:
    """What a freezing did: the migration written, None when there was nothing to freeze."""

    path: Path | None
    copied: tuple[str, ...]
    by_hand: tuple[str, ...]
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _State:
    """One file of sql/ as the migrations left it; no text of what was changed by hand."""

    sum: str
    text: str | None


# --- what is frozen -------------------------------------------------------------------------


def frozen_state(migrations: Path | None = None) -> dict[str, str]:
    """Sum each file of sql/ as the migrations have it last."""
    files = forward_files(migrations or migrations_dir())
    return {path: state.sum for path, state in _history(files).items()}


def unfrozen(folder: Path | None = None, migrations: Path | None = None) -> list[str]:
    """Name the files of sql/ that are not what the migrations made last."""
    frozen = frozen_state(migrations)
    current = {file.path: file.sum for file in load_sql(folder)}
    return sorted(
        path for path in frozen.keys() | current.keys() if frozen.get(path) != current.get(path)
    )


def _history(files: Sequence[Path]) -> dict[str, _State]:
    states: dict[str, _State] = {}
    for path in files:
        for found in _MARKED.finditer(path.read_text("utf-8")):
            if found["path"]:
                states[found["path"]] = _State(sha256(found["text"]), found["text"])
            elif found["changed"]:
                states[found["changed"]] = _State(found["sum"], None)
            else:
                states.pop(found["gone"], None)
    return states


# --- freezing -------------------------------------------------------------------------------


def render(name: str = CORE, folder: Path | None = None) -> str:
    """Write the text of the one migration that makes the whole schema from sql/."""
    copies = "".join(_copy(file) for file in load_sql(folder))
    return CORE_HEADER.format(name=name) + copies.removesuffix("\n")


def freeze(
    name: str | None = None,
    *,
    folder: Path | None = None,
    migrations: Path | None = None,
) -> Frozen:
    """Write what changed in sql/ into the migration that is not released, and its rollback.

    Before the first release that is the one migration, made anew at will. After it, it is the
    newest that was not released; `name` begins another, by a word for what it is about or by
    its number and that word.
    """
    target = migrations or migrations_dir()
    if is_packaged(target):
        raise MigrationError("an installed package is not frozen anew: work in a checkout")
    check_released(target)
    released = released_migrations(target)
    if not released:
        return _freeze_whole(name or CORE, folder, target)
    names = [path.stem for path in forward_files(target)]
    if name is not None and name not in names:
        name = _next_name(name, names)
    elif name is None and names[-1] not in released:
        name = names[-1]
    if name in released or (name in names and name != names[-1]):
        raise MigrationError(f"{name} was released, or is not the newest: it is fixed")
    base = _history([path for path in forward_files(target) if path.stem != name])
    changes = _Changes.between(base, load_sql(folder))
    if name is None:
        if not changes.is_empty:
            raise MigrationError(
                f"{', '.join(unfrozen(folder, target))} changed since the release: "
                "begin a migration, pgdispatch dev freeze NAME"
            )
        return Frozen(None, (), (), ())
    if name not in names:
        before = names[-1]
        words = {
            "name": name,
            "purpose": " ".join(name.split("_")[1:]),
            "before": before,
            "version": released.get(before) or max(released.values()),
        }
        (target / f"{name}.sql").write_text(_HEADER.format(**words), "utf-8")
        rollback_path(target, name).write_text(_ROLLBACK_HEADER.format(**words), "utf-8")
    path = target / f"{name}.sql"
    if changes.copied and not parse_migration(name, path.read_text("utf-8")).is_transactional:
        raise MigrationError(
            f"{name} runs outside of a transaction and holds no functions: "
            "begin a migration, pgdispatch dev freeze NAME"
        )
    _write_block(path, changes.forward())
    _write_block(rollback_path(target, name), changes.backward())
    return Frozen(
        path,
        tuple(file.path for file in changes.copied),
        tuple(file.path for file in changes.by_hand),
        tuple(changes.gone),
    )


def _freeze_whole(name: str, folder: Path | None, target: Path) -> Frozen:
    others = [path.stem for path in forward_files(target) if path.stem != name]
    if others:
        raise MigrationError(
            f"{name} would stand beside {', '.join(others)}: "
            "until the first release the whole schema is the one migration"
        )
    path = target / f"{name}.sql"
    path.write_text(render(name, folder), "utf-8")
    rollback_path(target, name).write_text(CORE_ROLLBACK.format(name=name), "utf-8")
    sums = target / SUMS
    if not sums.exists():
        sums.write_text(SUMS_HEADER, "utf-8")
    return Frozen(path, tuple(file.path for file in load_sql(folder)), (), ())


def _next_name(wanted: str, names: Sequence[str]) -> str:
    number = f"{int(names[-1].split('_')[0]) + 1:04}"
    name = wanted if wanted.startswith(f"{number}_") else f"{number}_{wanted}"
    if not re.fullmatch(r"\d{4}_[a-z][a-z0-9_]*", name):
        raise MigrationError(
            f"{wanted} is no name for a migration: lower-case words with _ between them, "
            f"the number is {number}"
        )
    return name


def _copy(file: SqlFile) -> str:
    if not file.text.endswith("\n"):
        raise MigrationError(f"{file.path} does not end with a newline")
    return f"-- begin {file.path}\n{file.text}-- end {file.path}\n\n"


def _write_block(path: Path, block: str) -> None:
    """Replace what an earlier freezing wrote; what stands around it is written by hand.

    A file from which the two marks were taken out is written by hand as a whole.
    """
    before, begin, rest = path.read_text("utf-8").partition(_BEGIN)
    if begin:
        _, end, after = rest.partition(_END)
        path.write_text(f"{before}{begin}{block}{end}{after}", "utf-8")


@dataclass(frozen=True, slots=True)
class _Changes:
    """What became of sql/ since the migrations before."""

    base: Mapping[str, _State]
    copied: tuple[SqlFile, ...]
    by_hand: tuple[SqlFile, ...]
    gone: tuple[str, ...]

    @classmethod
    def between(cls, base: Mapping[str, _State], files: Sequence[SqlFile]) -> _Changes:
        """Compare the files with what the migrations before made of them."""
        changed = [
            file for file in files if file.path not in base or base[file.path].sum != file.sum
        ]
        repeatable = [file for file in changed if file.path.startswith(REPEATABLE)]
        gone = sorted(base.keys() - {file.path for file in files})
        if repeatable or any(path.startswith(REPEATABLE) for path in gone):
            # A drop takes the grants along, and what is new everybody may call.
            paths = {file.path for file in repeatable}
            repeatable += [
                file
                for file in files
                if file.path.startswith(GRANTS) and file.path not in paths
            ]
        return cls(
            base,
            tuple(sorted(repeatable, key=lambda file: file.path)),
            tuple(file for file in changed if not file.path.startswith(REPEATABLE)),
            tuple(gone),
        )

    @property
    def is_empty(self) -> bool:
        """True when sql/ is what the migrations made last."""
        return not (self.copied or self.by_hand or self.gone)

    def forward(self) -> str:
        """Write what the migration does to get from the base to the files."""
        if self.is_empty:
            return ""
        parts = [f"-- by hand: {file.path} sha256:{file.sum}\n" for file in self.by_hand]
        parts += [f"-- no more: {path}\n" for path in self.gone]
        parts += [_UNCHECKED] if self.copied else []
        for path in reversed(self.gone):
            parts.append(_drop(path, self.base[path].text, _CONCERNED))
        for file in self.copied:
            old = self.base.get(file.path)
            if old is not None and _declared(old.text) != _declared(file.text):
                parts.append(_drop(file.path, old.text, _CONCERNED))
            parts.append(_copy(file))
        return "".join(parts)

    def backward(self) -> str:
        """Write what the rollback does to get from the files to the base."""
        parts = [_UNCHECKED] if self.copied or self.gone else []
        for file in reversed(self.copied):
            old = self.base.get(file.path)
            is_replaceable = old is not None and _declared(old.text) == _declared(file.text)
            # A view loses columns only by being made anew.
            if not is_replaceable or file.path.startswith(VIEWS):
                parts.append(_drop(file.path, file.text, "Only its own clients know it."))
        restored = {file.path for file in self.copied} | set(self.gone)
        for path in sorted(restored):
            old = self.base.get(path)
            if old is not None and old.text is not None:
                parts.append(_copy(SqlFile(path, old.text)))
        return "".join(parts)


def _declared(text: str | None) -> str | None:
    """What CREATE OR REPLACE of a function cannot change: its arguments and its result."""
    found = _DECLARED.search(text or "")
    return found["head"] if found else None


def _drop(path: str, text: str | None, reason: str) -> str:
    """Write the DROP of what a file made; anything but functions and views is left to hands."""
    function, view = _FUNCTION.search(text or ""), _VIEW.search(text or "")
    if path.startswith(FUNCTIONS) and function:
        kind, name = "function", function["signature"]
    elif path.startswith(VIEWS) and view:
        kind, name = "view", view["name"]
    else:
        return ""
    if name.startswith("dispatch._"):
        reason = "Private: no client calls it."
    return f"-- {reason}\n-- squawk-ignore ban-drop-{kind}\ndrop {kind} {name};\n\n"
