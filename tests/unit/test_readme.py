"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from pgdispatch import Actor, Dispatch
from pgdispatch.cli import main
from pgdispatch.demo.world import make_world
from tests.support.servers import REPOSITORY, Database, ServerUnavailable

README = REPOSITORY / "README.md"
FIRST_SCREEN = 60


def block(language: str) -> str:
    """Give the only block of code in a language."""
    found: list[str] = re.findall(
        rf"^```{language}\n(.*?)^```$", README.read_text(), re.S | re.M
    )
    assert len(found) == 1
    return found[0]


def test_the_sql_is_six_lines_that_psql_runs(db: Database) -> None:
    text = block("sql")
    assert text.count("\n") == 6
    try:
        psql = db.server.psql()
    except ServerUnavailable as reason:
        pytest.skip(str(reason))
    done = subprocess.run(
        [psql, "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--dbname={db.dsn}"],
        input=text,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ ACME-1 +\| queued +\| queued +\| [0-9a-f-]{36}$", done.stdout, re.M)
    assert re.search(r"^ t +\| completed \|", done.stdout, re.M), done.stdout
    assert db.execute("select r.status::text, r.result, r.source from dispatch.runs as r") == [
        ("completed", {"fixed": True}, "assign")
    ]


def test_the_python_is_eight_lines_in_one_transaction(
    db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    text = block("python")
    assert text.count("\n") == 8
    db.execute("create table public.ticket (title text)")
    with Dispatch(db.dsn) as dispatch:
        world = make_world(dispatch)
    names: dict[str, Any] = {
        "ws": world.workspace,
        "ana": world.ana.id,
        "alpha": world.alpha.id,
    }
    source = text.replace('"dbname=app"', repr(db.dsn))
    exec(compile(source, README.name, "exec"), names)
    assert db.value("select t.title from public.ticket as t") == "Login is broken"
    run_id = db.value("select r.id from dispatch.runs as r")
    assert capsys.readouterr().out == f"DEMO-1 queued queued {run_id}\n"


def test_the_python_s_writes_are_undone_together(db: Database) -> None:
    db.execute("create table public.ticket (title text)")
    with Dispatch(db.dsn) as dispatch:
        world = make_world(dispatch)
    with psycopg.connect(db.dsn) as conn:
        conn.execute("insert into ticket (title) values ('Login is broken')")
        Dispatch(conn).create_issue(
            world.workspace,
            "Login is broken",
            *Actor.user(world.ana.id),
            assignee_type="agent",
            assignee_id=world.alpha.id,
        )
        conn.rollback()
    assert db.value("select count(*) from public.ticket as t") == 0
    assert db.value("select count(*) from dispatch.runs as r") == 0


def test_the_first_screen_comes_in_its_order_and_fits() -> None:
    lines = README.read_text().splitlines()
    places = [
        next(number for number, line in enumerate(lines) if line.startswith(head))
        for head in (
            "# pgdispatch",
            "Choose something else",
            "```sql",
            "```python",
            "| guarantee |",
            "PostgreSQL 15 to 18",
            "## Try it",
        )
    ]
    assert places == sorted(places)
    assert places[-1] <= FIRST_SCREEN


def test_every_link_leads_somewhere() -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", README.read_text())
    assert targets
    for target in targets:
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        assert (REPOSITORY / path).exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", (REPOSITORY / path).read_text(), re.M)
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}


def test_every_command_and_role_named_exists(catalog_db: Database) -> None:
    text = README.read_text()
    commands = set(re.findall(r"^pgdispatch (\w+)", text, re.M)) | set(
        re.findall(r"`pgdispatch (\w+)", text)
    )
    assert commands == {"explain", "migrate", "sweep", "tick", "worker"}
    for name in commands:
        assert CliRunner().invoke(main, [name, "--help"]).exit_code == 0
    roles = set(re.findall(r"`(dispatch_(?!meta)\w+)`", text))
    known = {
        name
        for (name,) in catalog_db.execute(
            "select r.rolname from pg_roles as r where r.rolname like 'dispatch\\_%'"
        )
    }
    assert roles == known


def test_the_make_targets_named_exist() -> None:
    targets = set(re.findall(r"^make (\w+)", README.read_text(), re.M)) | set(
        re.findall(r"`make (\w+)`", README.read_text())
    )
    makefile = (REPOSITORY / "Makefile").read_text()
    assert targets == {"bench", "demo", "test"}
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.M)
