"""Dump and restore: the same catalog, the same rows, and a board that goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from pgdispatch import schema
from tests.migrations.support import catalog, differing, load_rows, read_rows
from tests.support.pgtap import SERVERS
from tests.support.servers import Database, Server, ServerUnavailable

WORKSPACE = "10000000-0000-4000-8000-000000000001"


def tool(server: Server, name: str) -> str:
    """Find a program of the server's own version."""
    if server.bindir is None or not (server.bindir / name).exists():
        pytest.skip(f"{name} of the server's version is not at hand")
    return str(server.bindir / name)


def call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def dump(database: Database, server: Server, path: Path, form: str) -> None:
    call(
        tool(server, "pg_dump"),
        f"--format={form}",
        "--schema=dispatch",
        "--schema=dispatch_meta",
        f"--file={path}",
        f"--dbname={database.dsn}",
    )


def goes_on(database: Database) -> None:
    """Claim, complete and wake as before the dump."""
    database.execute(
        "select dispatch.resume_workspace(%s, 'user', (select min(m.user_id::text)::uuid"
        " from dispatch.member as m))",
        [WORKSPACE],
    )
    database.execute(
        "select dispatch.heartbeat(%s, array(select r.id from dispatch.runtime as r))",
        [WORKSPACE],
    )
    assert database.execute(
        "select t.applied, t.status::text from dispatch.claim_runs(%s,"
        " array(select r.id from dispatch.runtime as r), p_start => true) as c"
        " cross join lateral dispatch.complete_run(c.workspace_id, c.run_id, c.claim_no) as t",
        [WORKSPACE],
    ) == [(True, "completed")]


@pytest.mark.parametrize("form", ["plain", "custom"])
def test_a_restored_dump_is_the_same_database(
    empty_db: Database, form: str, tmp_path: Path
) -> None:
    server = empty_db.server
    schema.migrate(empty_db.dsn)
    load_rows(empty_db)
    path = tmp_path / "dump"
    dump(empty_db, server, path, form)
    with server.database(empty=True) as restored:
        target = f"--dbname={restored.dsn}"
        if form == "plain":
            call(
                tool(server, "psql"),
                "--no-psqlrc",
                "--quiet",
                "--set=ON_ERROR_STOP=1",
                f"--file={path}",
                "--output=/dev/null",
                target,
            )
        else:
            call(tool(server, "pg_restore"), "--exit-on-error", target, str(path))
        for name in (schema.SCHEMA, schema.META_SCHEMA):
            assert differing(catalog(restored, name), catalog(empty_db, name)) == []
        assert read_rows(restored) == read_rows(empty_db)
        assert schema.status(restored.dsn).is_current
        assert schema.find_drift(restored.dsn).differences == ()
        with restored.connect(role="dispatch_worker") as connection:
            schema.check(connection)
        goes_on(restored)
        assert schema.migrate(restored.dsn).applied == ()


def test_a_member_of_the_owner_dumps_everything(empty_db: Database, tmp_path: Path) -> None:
    """On a managed service nobody is a superuser."""
    schema.migrate(empty_db.dsn)
    load_rows(empty_db)
    path, whole = tmp_path / "member.sql", tmp_path / "whole.sql"
    dump(empty_db, empty_db.server, whole, "plain")
    member = Database(empty_db.server, empty_db.name)
    member.dsn = make_conninfo(empty_db.dsn, options="-c role=dispatch_owner")
    dump(member, empty_db.server, path, "plain")
    # From some minor release on a dump has a random word in two of its lines.
    lines = [
        [line for line in each.read_text().splitlines() if not line.startswith("\\")]
        for each in (path, whole)
    ]
    assert lines[0] == lines[1]


def test_a_dump_goes_to_a_newer_server(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """An upgrade of the server: dumped by the newer programs, restored on their server."""
    servers = request.config.stash[SERVERS]
    if not {"pg15", "pg18"} <= set(servers.names):
        pytest.skip("two servers are needed, and the run is narrowed to others")
    try:
        old, new = servers.get("pg15"), servers.get("pg18")
    except ServerUnavailable as reason:
        pytest.skip(str(reason))
    path = tmp_path / "dump"
    with old.database(empty=True) as before, new.database(empty=True) as after:
        schema.migrate(before.dsn)
        load_rows(before)
        dump(before, new, path, "custom")
        # The roles belong to the server, and come before what they own.
        with new.database(empty=True) as first:
            schema.migrate(first.dsn)
        call(tool(new, "pg_restore"), "--exit-on-error", f"--dbname={after.dsn}", str(path))
        assert read_rows(after) == read_rows(before)
        assert schema.find_drift(after.dsn).differences == ()
        goes_on(after)
