"""The pgTAP scripts run by the runner that database administrators have."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.servers import REPOSITORY, Database


def libpq_variables(dsn: str) -> dict[str, str]:
    """Say a connection string in variables: pg_prove hands psql a database's name only."""
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
    parts = conninfo_to_dict(dsn)
    return {variable: str(parts[name]) for name, variable in names.items() if name in parts}


def test_pg_prove_runs_every_script(db: Database) -> None:
    if db.server.name != "pg15":
        pytest.skip("pg_prove runs on PostgreSQL 15")
    if shutil.which("pg_prove") is None:
        pytest.skip("no pg_prove: apt package libtap-parser-sourcehandler-pgtap-perl")
    scripts = list((REPOSITORY / "pgtap").rglob("test_*.sql"))
    assert scripts
    done = subprocess.run(
        [
            "pg_prove",
            "--recurse",
            "--ext=.sql",
            f"--psql-bin={db.server.psql()}",
            "pgtap/",
        ],
        cwd=REPOSITORY,
        env=os.environ | libpq_variables(db.dsn),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.search(r"^Files=(\d+), Tests=(\d+)", done.stdout, re.MULTILINE)
    assert summary is not None, done.stdout
    assert int(summary[1]) == len(scripts)
    assert int(summary[2]) > 0
