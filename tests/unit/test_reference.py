"""sql/README.md is what the comments in sql/ say."""

from __future__ import annotations

from pathlib import Path

from pgdispatch import reference, schema


def test_the_reference_is_current() -> None:
    """It is written by a command, and editing a comment without it fails here."""
    text = (schema.sql_dir() / "README.md").read_text("utf-8")
    assert text == reference.render(), "run: pgdispatch dev reference"


def test_every_public_function_file_has_an_entry() -> None:
    """A function that the parser overlooked would be missing without a sound."""
    names = {
        Path(file.path).stem
        for file in schema.load_sql()
        if "/30_functions/" in file.path and not Path(file.path).stem.startswith("_")
    }
    assert names
    assert names <= {entry.name for entry in reference.entries()}


def test_an_entry_has_the_call_and_the_comment() -> None:
    """The call lists the arguments with their defaults, the comment its errors."""
    entry = next(entry for entry in reference.entries() if entry.name == "start_run")
    assert entry.call == (
        "start_run(p_workspace_id uuid, p_run_id uuid, p_claim_no integer,"
        " p_lease interval default null) returns dispatch.transition"
    )
    assert "Errors: PD400" in entry.text
