"""Drift: every kind of object that differs from what the migrations made is named."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg.rows import TupleRow

from pgdispatch import schema
from tests.migrations.support import History, catalog, load_rows, read_rows
from tests.support.servers import Database

# What was done to the database, and how each object in which it shows is named.
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "extra table": (
        "create table dispatch.stray (id uuid primary key)",
        {
            "table stray": "extra",
            "column stray.id": "extra",
            "index stray_pkey": "extra",
            "constraint stray_pkey on stray": "extra",
        },
    ),
    "missing table": (
        "drop table dispatch.gate_total cascade",
        {
            "table gate_total": "missing",
            "column gate_counters.metric": "missing",
            "column gate_counters.reason": "missing",
            "column gate_counters.value": "missing",
            "column gate_total.metric": "missing",
            "column gate_total.reason": "missing",
            "column gate_total.value": "missing",
            "column gate_total.workspace_id": "missing",
            "constraint gate_total_pkey on gate_total": "missing",
            "constraint gate_total_workspace_fkey on gate_total": "missing",
            "index gate_total_pkey": "missing",
            "view gate_counters": "missing",
        },
    ),
    "extra column": (
        "alter table dispatch.member add column note text",
        {"column member.note": "extra"},
    ),
    "type of a column": (
        "alter table dispatch.team alter column name type character varying",
        {"column team.name": "definition"},
    ),
    "default of a column": (
        "alter table dispatch.run alter column priority set default 7",
        {"column run.priority": "definition"},
    ),
    "nullable column": (
        "alter table dispatch.run alter column lane drop not null",
        {"column run.lane": "definition"},
    ),
    "missing index": ("drop index dispatch.run_due_idx", {"index run_due_idx": "missing"}),
    "predicate of an index": (
        "drop index dispatch.run_finished_idx;"
        "create index run_finished_idx on dispatch.run (workspace_id, finished_at)",
        {"index run_finished_idx": "definition, comment"},
    ),
    "key order of an index": (
        "drop index dispatch.agent_owner_idx;"
        "create index agent_owner_idx on dispatch.agent (owner_id, workspace_id)",
        {"index agent_owner_idx": "definition, comment"},
    ),
    "invalid index": (
        "update pg_index set indisvalid = false"
        " where indexrelid = 'dispatch.agent_owner_idx'::regclass",
        {"index agent_owner_idx": "definition"},
    ),
    "missing constraint": (
        "alter table dispatch.run drop constraint run_claim_no_range",
        {"constraint run_claim_no_range on run": "missing"},
    ),
    "other constraint": (
        "alter table dispatch.run drop constraint run_claim_no_range;"
        "alter table dispatch.run add constraint run_claim_no_range check (claim_no > -2)",
        {"constraint run_claim_no_range on run": "definition"},
    ),
    "unvalidated constraint": (
        "alter table dispatch.run drop constraint run_claim_no_range;"
        "alter table dispatch.run add constraint run_claim_no_range check (claim_no >= 0)"
        " not valid",
        {"constraint run_claim_no_range on run": "definition"},
    ),
    "disabled trigger": (
        "alter table dispatch.run disable trigger run_keep_terminal",
        {"trigger run_keep_terminal on run": "definition"},
    ),
    "disabled foreign keys": (
        "alter table dispatch.squad disable trigger all",
        {
            "constraint squad_leader_fkey on squad": "definition",
            "constraint squad_workspace_fkey on squad": "definition",
        },
    ),
    "missing function": (
        "drop function dispatch.read_payload",
        {"function read_payload(p_text text)": "missing"},
    ),
    "extra function": (
        "create function dispatch.f(p integer) returns integer language sql as 'select 1'",
        {"function f(p integer)": "extra"},
    ),
    "body of a function": (
        "create or replace function dispatch.key_limit() returns integer language sql"
        " immutable parallel safe as 'select 256'",
        {"function key_limit()": "definition"},
    ),
    "label of a function": (
        "alter function dispatch.key_limit() volatile",
        {"function key_limit()": "definition"},
    ),
    "pinned path of a function": (
        "alter function dispatch.read_payload reset search_path",
        {"function read_payload(p_text text)": "definition"},
    ),
    "owner": (
        "alter function dispatch.key_limit() owner to postgres",
        {"function key_limit()": "definition, grants"},
    ),
    "comment": (
        "comment on column dispatch.run.lane is null",
        {"column run.lane": "comment"},
    ),
    "grant": (
        "grant execute on function dispatch.key_limit() to public",
        {"function key_limit()": "grants"},
    ),
    "grant on a column": (
        "grant select (id) on dispatch.run to dispatch_reader",
        {"column run.id": "grants"},
    ),
    "revoked grant": (
        "revoke select on dispatch.runs from dispatch_reader",
        {"view runs": "grants"},
    ),
    "default privileges": (
        "alter default privileges for role dispatch_owner in schema dispatch"
        " grant select on tables to dispatch_reader",
        {"default privileges of dispatch_owner on r": "extra"},
    ),
    "label of an enum": (
        "alter type dispatch.outcome add value 'unheard'",
        {"type outcome": "definition"},
    ),
    "attribute of a composite": (
        "alter type dispatch.decision add attribute extra integer",
        {"column decision.extra": "extra"},
    ),
    "rule": (
        "create rule silent as on delete to dispatch.member do instead nothing",
        {"rule silent on member": "extra"},
    ),
    "row security": (
        "create policy own on dispatch.member using (true);"
        "alter table dispatch.member enable row level security",
        {"policy own on member": "extra", "table member": "definition"},
    ),
    "settings of a table": (
        "alter table dispatch.run set (autovacuum_enabled = off)",
        {"table run": "definition"},
    ),
    "statistics": (
        "create statistics dispatch.s on workspace_id, agent_id from dispatch.run",
        {"statistics s": "extra"},
    ),
    "text of a view": (
        "do $do$ begin execute 'create or replace view dispatch.queue_depth as '"
        " || replace(pg_get_viewdef('dispatch.queue_depth'::regclass), 'deferred', 'failed');"
        " end; $do$",
        {"view queue_depth": "definition"},
    ),
}


def test_a_database_as_it_was_made_has_no_drift(empty_db: Database) -> None:
    schema.migrate(empty_db.dsn)
    load_rows(empty_db)
    before = catalog(empty_db), read_rows(empty_db)
    drift = schema.find_drift(empty_db.dsn)
    assert drift == schema.Drift(schema.status(empty_db.dsn), ())
    assert (catalog(empty_db), read_rows(empty_db)) == before


def test_every_kind_of_change_is_named(empty_db: Database) -> None:
    """Each in a transaction of its own, which is then taken back."""
    schema.migrate(empty_db.dsn)
    wrong = {}
    with empty_db.connect() as connection:
        expected = schema.catalog_objects(connection)
        for what, (change, named) in CHANGES.items():
            with connection.transaction(force_rollback=True):
                connection.execute(change.encode())
                found = schema.compare(expected, schema.catalog_objects(connection))
            shown = {
                each.object: ", ".join(each.facets) if each.facets else each.kind
                for each in found
            }
            if shown != named:
                wrong[what] = shown
    assert wrong == {}


def test_a_difference_shows_both_sides(empty_db: Database) -> None:
    schema.migrate(empty_db.dsn)
    empty_db.execute(
        "create or replace function dispatch.key_limit() returns integer language sql"
        " immutable parallel safe as $fn$\nselect 256;\n$fn$"
    )
    (found,) = schema.find_drift(empty_db.dsn).differences
    assert list(found.lines()) == [
        "different  function key_limit()",
        "    definition: -select 255;",
        "    definition: +select 256;",
    ]


def test_a_comparison_disturbs_nobody(empty_db: Database) -> None:
    """It goes on beside a writer, and leaves the catalog as it was."""
    schema.migrate(empty_db.dsn)
    load_rows(empty_db)
    empty_db.execute("drop index dispatch.run_due_idx")
    before = catalog(empty_db)
    with empty_db.connect(autocommit=False) as writer:
        writer.execute("update dispatch.run set priority = priority + 1")
        writer.execute("select from dispatch.workspace for update")
        (found,) = schema.find_drift(empty_db.dsn).differences
        assert (found.kind, found.object) == ("missing", "index run_due_idx")
        writer.execute("select count(*) from dispatch.runs")
    assert catalog(empty_db) == before
    assert empty_db.value("select to_regnamespace('dispatch_set_aside') is null")


def test_a_schema_that_was_dropped_is_missing_whole(empty_db: Database) -> None:
    schema.migrate(empty_db.dsn)
    empty_db.execute("drop schema dispatch cascade")
    found = schema.find_drift(empty_db.dsn).differences
    assert {each.kind for each in found} == {"missing"}
    assert "schema dispatch" in {each.object for each in found}


def test_a_database_is_compared_with_the_migrations_that_it_has(
    empty_db: Database, history: History, tmp_path: Path
) -> None:
    """An older one is not drift, nor is an index that no transaction could build."""
    older = history.copy(tmp_path / "older", "0001_core", "0002_nicknames")
    schema.migrate(empty_db.dsn, migrations=older)
    drift = schema.find_drift(empty_db.dsn, migrations=history.migrations)
    assert (drift.status.pending, drift.differences) == (("0003_titles",), ())
    schema.migrate(empty_db.dsn, migrations=history.migrations)
    assert schema.find_drift(empty_db.dsn, migrations=history.migrations).differences == ()
    with pytest.raises(schema.MigrationError, match="install a newer pgdispatch"):
        schema.find_drift(empty_db.dsn, migrations=older)


def test_whoever_may_only_read_compares_against_another_database(empty_db: Database) -> None:
    schema.migrate(empty_db.dsn)
    empty_db.execute("drop index dispatch.run_due_idx")
    reader = psycopg.conninfo.make_conninfo(empty_db.dsn, options="-c role=dispatch_reader")
    with pytest.raises(schema.MigrationError, match="--against"):
        schema.find_drift(reader)
    with empty_db.server.database(empty=True) as other:
        with pytest.raises(schema.MigrationError, match="different migrations"):
            schema.find_drift(reader, against=other.dsn)
        schema.migrate(other.dsn)
        (found,) = schema.find_drift(reader, against=other.dsn).differences
    assert (found.kind, found.object) == ("missing", "index run_due_idx")


def test_a_change_in_the_middle_of_it_is_told(
    empty_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A migrator that comes in between would make a half-compared schema look drifted."""
    schema.migrate(empty_db.dsn)
    module = "pgdispatch.schema._drift.catalog_objects"

    def and_then_undo(connection: psycopg.Connection[TupleRow]) -> object:
        monkeypatch.undo()
        found = schema.catalog_objects(connection)
        schema.rollback(empty_db.dsn)
        return found

    monkeypatch.setattr(module, and_then_undo)
    with pytest.raises(schema.MigrationError, match="check again"):
        schema.find_drift(empty_db.dsn)
