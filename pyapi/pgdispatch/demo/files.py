"""Find the files that the demonstration turns into issues."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

#: A file's name stands in the title of its issue, behind what is done with it.
TITLE_BYTES = 200


@dataclass(frozen=True, slots=True)
class Found:
    """The files of a folder, relative to it, and how they were found."""

    root: Path
    paths: tuple[Path, ...]
    total: int
    is_checkout: bool

    @property
    def text(self) -> str:
        """Say what was found, in one line."""
        kind = "tracked files" if self.is_checkout else "files (no git checkout)"
        if len(self.paths) < self.total:
            return f"{len(self.paths)} of {self.total} {kind} of {self.root}"
        return f"{self.total} {kind} of {self.root}"


def find_files(folder: Path, limit: int) -> Found:
    """Take the tracked files of a checkout, or all files of another folder, up to a limit.

    Of a folder that is no checkout, hidden folders and Python's caches are left out. Whatever
    is not a regular file, a submodule or a deleted file for example, is no input.
    """
    root = folder.resolve(strict=True)
    tracked = _tracked(root)
    names = tracked if tracked is not None else _walked(root)
    paths = sorted(name for name in names if (root / name).is_file())
    return Found(root, tuple(paths[:limit]), len(paths), tracked is not None)


def note_of(path: Path) -> str:
    """Write a relative path as a handoff note; a file's name may be no valid text."""
    return quote_from_bytes(os.fsencode(path))


def path_of(note: str) -> Path:
    """Read the path that a handoff note carries."""
    return Path(os.fsdecode(unquote_to_bytes(note)))


def title_of(verb: str, path: Path) -> str:
    """Say what is to be done with a file; of a long name the end is kept."""
    name = os.fsencode(path).decode(errors="replace")
    head = f"{verb[:60]} "
    room = TITLE_BYTES - len(head.encode())
    if len(name.encode()) > room:
        name = "…" + name.encode()[3 - room :].decode(errors="ignore")
    return head + name


def _tracked(root: Path) -> list[Path] | None:
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run(
        # The checkout may belong to somebody else; none of its hooks is run.
        [git, "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "ls-files", "-z"],
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0 or not done.stdout:
        return None
    return [Path(os.fsdecode(name)) for name in done.stdout.split(b"\0") if name]


def _walked(root: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, names in os.walk(root):
        folders[:] = [
            name for name in folders if not name.startswith(".") and name != "__pycache__"
        ]
        found += [(Path(place) / name).relative_to(root) for name in names]
    return found


def issue_id_of(note: str) -> uuid.UUID:
    """Give the id of a file's issue.

    A run that is retried comes without the note that its issue was assigned with, and its
    daemon has to find the file by the issue.
    """
    return uuid.uuid5(uuid.NAMESPACE_URL, f"file:{note}")
