"""The demonstration's parts that need no database."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pgdispatch.cli import main
from pgdispatch.demo import analysis, show
from pgdispatch.demo.checks import Check
from pgdispatch.demo.files import TITLE_BYTES, find_files, note_of, path_of, title_of
from pgdispatch.demo.view import duration
from pgdispatch.embedded import EmbeddedServerError


def git(folder: Path, *arguments: str) -> None:
    found = shutil.which("git")
    if found is None:
        pytest.skip("git is not installed")
    subprocess.run([found, *arguments], cwd=folder, check=True, capture_output=True)


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def test_of_a_checkout_the_tracked_files_are_taken(tmp_path: Path) -> None:
    fill(tmp_path, "a", "sub/b", "sub/ä b", "untracked", "deleted")
    (tmp_path / "link").symlink_to("nowhere")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "a", "sub", "deleted", "link")
    (tmp_path / "deleted").unlink()
    found = find_files(tmp_path, 10)
    assert [str(path) for path in found.paths] == ["a", "sub/b", "sub/ä b"]
    assert found.text == f"3 tracked files of {tmp_path}"
    assert [str(path) for path in find_files(tmp_path / "sub", 10).paths] == ["b", "ä b"]


def test_of_another_folder_all_files_are_taken(tmp_path: Path) -> None:
    fill(tmp_path, "b/c", "a", ".hidden/x", "b/__pycache__/y", "b/.file")
    found = find_files(tmp_path, 2)
    assert [str(path) for path in found.paths] == ["a", "b/.file"]
    assert found.total == 3
    assert found.text == f"2 of 3 files (no git checkout) of {tmp_path}"


@given(st.binary(min_size=1, max_size=400).filter(lambda name: b"\0" not in name))
def test_any_file_name_passes_through_a_note_and_fits_a_title(name: bytes) -> None:
    path = Path(os.fsdecode(name))
    note = note_of(path)
    assert note.isascii()
    assert path_of(note) == path
    for verb in ("Analyse", "é" * 100):
        title = title_of(verb, path)
        assert len(title.encode()) <= TITLE_BYTES
        assert title.startswith(f"{verb[:60]} ")


def test_a_long_name_keeps_its_end() -> None:
    assert title_of("Analyse", Path("x" * 300 + "/end.sql")).endswith("x/end.sql")
    assert title_of("Analyse", Path("short")) == "Analyse short"


@pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"one two\nthree\n", b"no end", b"  a\tb \n\n cc dd  ", bytes(range(256)) * 3],
)
def test_the_analysis_counts_alike_whatever_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, block: int
) -> None:
    monkeypatch.setattr(analysis, "BLOCK_BYTES", block)
    path = tmp_path / "file"
    path.write_bytes(data)
    assert analysis.describe(str(path)) == {
        "lines": data.count(b"\n"),
        "words": len(data.split()),
        "bytes": len(data),
        "longest": max(map(len, data.split(b"\n"))),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def test_without_the_extra_debian_s_server_is_taken_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Path:
        raise EmbeddedServerError("the embedded server needs the extra 'embedded'")

    monkeypatch.setattr(show, "wheel_bindir", missing)
    monkeypatch.setattr(show, "DEBIAN_BINDIRS", (tmp_path / "18", tmp_path / "15"))
    with pytest.raises(show.DemoError, match="extra 'embedded', or install PostgreSQL 15"):
        show.find_server()
    fill(tmp_path, "15/postgres")
    bindir, origin = show.find_server()
    assert bindir == tmp_path / "15"
    assert origin.endswith("since the extra 'embedded' is not installed")


def report(*checks: Check) -> show.Report:
    return show.Report("server", "files", 1.0, [], {}, [], list(checks))


@pytest.mark.parametrize("arguments", [[], ["--json"]])
@pytest.mark.parametrize(("holds", "code"), [(True, 0), (False, 1)])
def test_a_broken_promise_is_in_the_exit_code(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    holds: bool,
    code: int,
) -> None:
    checks = (Check("first", True, "fine"), Check("second", holds, "found"))
    monkeypatch.setattr(show, "run", lambda *_: report(*checks))
    result = CliRunner().invoke(main, ["demo", "--dir", str(tmp_path), *arguments])
    assert result.exit_code == code, result.output
    if not holds and not arguments:
        assert "broken: second" in result.output


def test_the_environment_names_folder_command_and_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def run(options: show.Options, _: object) -> show.Report:
        given.append(options)
        return report()

    monkeypatch.setattr(show, "run", run)
    environment = {"DEMO_DIR": str(tmp_path), "DEMO_EXEC": "wc -l", "DEMO_LIMIT": "7"}
    assert CliRunner().invoke(main, ["demo"], env=environment).exit_code == 0
    assert given == [show.Options(tmp_path, ("wc", "-l"), 7)]


@pytest.mark.parametrize("command", ["no-such-command -l", "unclosed 'quote"])
def test_a_command_that_cannot_be_is_wrong_usage(tmp_path: Path, command: str) -> None:
    result = CliRunner().invoke(main, ["demo", "--dir", str(tmp_path), "--exec", command])
    assert result.exit_code == 2
    assert "--exec" in result.output


def test_a_folder_without_files_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "--dir", str(tmp_path)])
    assert result.exit_code == 1
    assert "has no files" in result.output


def test_durations_are_written_for_people() -> None:
    assert [duration(each) for each in (None, 0.0314, 0.9994, 12.345)] == [
        "-",
        "31 ms",
        "999 ms",
        "12.3 s",
    ]
