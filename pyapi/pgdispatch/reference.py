"""The SQL reference, sql/README.md: written from the comments that stand beside the objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgdispatch import schema

_HEAD = """# The SQL reference

Written by `pgdispatch dev reference` from the comments in this folder; a test fails when it
is stale.

## How these files are edited

- One object a file, applied in path order; a file can be applied again. Bodies are not
  checked on load.
- A function stands beside its callers; a name that begins with `_` is private and nobody
  may execute it.
- Every public function is `SECURITY DEFINER` with a pinned `search_path`, has a COMMENT
  with its arguments, outcomes and errors, and a line in `90_grants/`.
- After an edit: `pgdispatch dev freeze`, `pgdispatch dev reference`, and both in the same
  commit.

## Rules that every function keeps

- Locks are taken in one order: workspace (its issue counter), issues, agents, runs, each by
  id. A claim holds agents FOR NO KEY UPDATE, an admission FOR KEY SHARE; what archives,
  rebinds, promotes or removes holds them FOR UPDATE. A claim waits for no run: it skips
  what is locked.
- `dispatch.clock()` is read once a call, after the locks, and stamps everything that is
  written or compared.
- Rows are reached by laterals of one row and moved by their key, and the hot functions pin
  the planner's settings: a plan that a connection makes while the tables are empty is kept,
  and must walk the same indexes as one made over a million rows.
- A refusal is data with a reason code. Errors are for bad arguments (PD400), missing rights
  (PD403), unknown rows (PD404), conflicts (PD409) and broken invariants (PD500); COLUMN and
  the head of the HINT name the argument. Besides these only 40001 and 40P01 are to be
  expected, and to be retried.
"""

_FUNCTION = re.compile(
    r"^create or replace function dispatch\.(?P<name>[a-z]\w*)\((?P<arguments>.*?)\)\n"
    r"(?:returns (?P<returns>[^\n]+)\n)?language ",
    re.MULTILINE | re.DOTALL,
)
_OBJECT = re.compile(
    r"^create (?:or replace view|type|view) dispatch\.(?P<name>[a-z]\w*)", re.MULTILINE
)
_COMMENT = re.compile(
    r"^comment on (?P<kind>function|type|view) dispatch\.(?P<name>\w+).*? is\n"
    r"\$doc\$(?P<text>.*?)\$doc\$;",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One public object: where it stands, how it is called, and its comment."""

    area: str
    name: str
    call: str
    text: str


def entries() -> Iterator[Entry]:
    """Give the public objects of sql/ in path order."""
    for file in schema.load_sql():
        path = Path(file.path)
        comments = {match["name"]: match["text"] for match in _COMMENT.finditer(file.text)}
        for match in _FUNCTION.finditer(file.text):
            arguments = " ".join(match["arguments"].split())
            returns = f" returns {match['returns']}" if match["returns"] else ""
            call = f"{match['name']}({arguments}){returns}"
            yield Entry(path.parent.name, match["name"], call, comments[match["name"]])
        for match in _OBJECT.finditer(file.text):
            area = {"10_types": "types", "50_views": "views"}.get(path.parent.name, "")
            if area:
                yield Entry(area, match["name"], match["name"], comments[match["name"]])


def render() -> str:
    """Give the text of sql/README.md as the comments have it."""
    areas: dict[str, list[Entry]] = {}
    for entry in entries():
        areas.setdefault(entry.area, []).append(entry)
    parts = [_HEAD]
    for area in sorted(areas):
        parts.append(f"## {area}\n")
        parts.extend(
            f"### {entry.name}\n\n```sql\n{entry.call}\n```\n\n{entry.text}\n"
            for entry in sorted(areas[area], key=lambda entry: entry.name)
        )
    return "\n".join(parts)


def write() -> Path:
    """Write sql/README.md and give its path."""
    path = schema.sql_dir() / "README.md"
    path.write_text(render(), encoding="utf-8")
    return path
