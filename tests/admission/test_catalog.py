"""What the catalog shows of the gates: one place for each insert, each number and each read."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from pgdispatch import schema
from tests.support.servers import REPOSITORY, Database

CONSTANTS = {
    "allowance_window": timedelta(minutes=10),
    "duplicate_window": timedelta(hours=24),
    "coalesce_window": timedelta(seconds=5),
}
#: Numbers of other rules that happen to be equal.
UNRELATED = {"max_lease", "_retry_delay"}


@pytest.fixture
def bodies(catalog_db: Database) -> dict[str, str]:
    """The body of every function, without its comments."""
    return {
        name: re.sub(r"--[^\n]*", "", body)
        for name, body in catalog_db.execute(
            "select p.proname, p.prosrc from pg_proc as p"
            " where p.pronamespace = 'dispatch'::regnamespace"
        )
    }


@pytest.mark.parametrize(
    ("table", "function"),
    [
        ("run", "_insert_runs"),
        ("run_detail", "_insert_runs"),
        ("gate_event", "_record_gate_event"),
        ("deferred_assignment", "_remember_assignment"),
        ("workspace_pause", "pause_workspace"),
    ],
)
def test_each_queue_table_has_one_insert(
    bodies: dict[str, str], table: str, function: str
) -> None:
    pattern = rf"\b(?:insert\s+into|merge\s+into)\s+dispatch\.{table}\b(?!_)"
    found = [name for name, body in bodies.items() for _ in re.findall(pattern, body)]
    assert found == [function]
    assert not any(re.search(r"\bcopy\s+dispatch\.", body) for body in bodies.values())


def test_each_number_of_a_gate_is_written_once(
    catalog_db: Database, bodies: dict[str, str]
) -> None:
    written: dict[timedelta, list[str]] = {}
    for name, body in bodies.items():
        for text in re.findall(r"interval\s+'([^']*)'|'([^']*)'::interval", body):
            length = catalog_db.value("select %s::interval", ["".join(text)])
            written.setdefault(length, []).append(name)
    for name, length in CONSTANTS.items():
        assert [each for each in written[length] if each not in UNRELATED] == [name]
        assert catalog_db.value(f"select dispatch.{name}()") == length
    gates = {
        Path(each.path).stem
        for each in schema.load_sql()
        if re.search(r"/(admission|allowance|pause|telemetry|wakes|issues)/", each.path)
    }
    assert not [name for name in gates if re.search(r"(?<![\w.])5(?![\w.])", bodies[name])]
    assert catalog_db.value("select dispatch.allowance_limit()") == 5


def test_the_client_repeats_no_number_of_a_gate() -> None:
    for name in ("_calls", "client", "aio", "types", "_arguments"):
        text = (REPOSITORY / "pyapi" / "pgdispatch" / f"{name}.py").read_text("utf-8")
        assert not re.search(r"timedelta\((?:minutes=10|hours=24|days=1|seconds=5)\)", text)


@pytest.mark.parametrize(
    ("read", "functions"),
    [
        # The count alone looks for runs by task; the others read the wake in hand.
        (r"hashtextextended\(", {"_allowance_count"}),
        # The one asks whether a pause lasts, the other when the last one ended.
        (
            r"(?<!delete )\bfrom\s+dispatch\.workspace_pause\b",
            {"_workspace_is_paused", "_resumed_since"},
        ),
        (r"\bdispatch\.duplicate_window\(\)", {"_find_duplicate"}),
        (r"\bdispatch\.coalesce_window\(\)", {"_may_coalesce"}),
        (r"\bdispatch\.allowance_window\(\)", {"_allowance_count"}),
        (r"\bdispatch\._allowance_count\(", {"_allowance_verdict"}),
        # Admission decides by it; the preview and the explanation only ask it.
        (
            r"\bdispatch\._allowance_verdict\(",
            {"_settle_wake", "_preview_wake", "_explain_gates"},
        ),
    ],
)
def test_each_read_of_a_gate_has_one_place(
    bodies: dict[str, str], read: str, functions: set[str]
) -> None:
    found = {name for name, body in bodies.items() if re.search(read, body)}
    assert found == functions


def test_the_allowance_has_no_state_of_its_own(catalog_db: Database) -> None:
    assert (
        catalog_db.execute(
            """
        select c.relname, a.attname
        from pg_class as c
        join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0
        where c.relnamespace = 'dispatch'::regnamespace and c.relkind in ('r', 'm')
            and (c.relname ~ 'allowance|rate' or a.attname ~ 'allowance|rate_limit')
        """
        )
        == []
    )


def test_the_allowance_takes_no_lock(bodies: dict[str, str]) -> None:
    for name in ("_allowance_count", "_allowance_verdict"):
        assert not re.search(
            r"\bfor\s+(update|no\s+key|share|key)\b|advisory|\block\b", bodies[name]
        )


def test_no_script_sleeps() -> None:
    scripts = [
        path
        for area in ("admission", "allowance", "pause", "telemetry")
        for path in (REPOSITORY / "pgtap" / area).glob("*.sql")
    ]
    assert len(scripts) > 20
    here = list(Path(__file__).parent.glob("*.py"))
    for path in (*scripts, *here):
        text = path.read_text("utf-8")
        assert not re.search(r"pg_sleep|time\.sleep\(", text.replace(r"pg_sleep|time\.", ""))


def test_every_gate_is_in_the_reference() -> None:
    """The functions that stand for the gates are files of their own."""
    names = {Path(each.path).stem for each in schema.load_sql()}
    assert names >= {
        "_agent_verdict", "_gate_wakes", "_pause_verdict", "_find_duplicate", "_may_coalesce",
        "_absorb_wake", "_allowance_verdict", "_admit_round", "_insert_runs",
    }  # fmt: skip
