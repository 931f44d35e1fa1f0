"""What the tests of migrations share: catalogs, rows, and a history of three migrations."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import psycopg

from pgdispatch import schema
from tests.support.servers import REPOSITORY, Database

ROWS = Path(__file__).with_name("rows.sql")

#: Our migrations, as they are applied to an empty database.
NAMES = tuple(each.name for each in schema.read_migrations())
NEWEST = NAMES[-1]

Rows = dict[str, list[dict[str, Any]]]


def catalog(database: Database, name: str = schema.SCHEMA) -> list[str]:
    """Describe a schema of a database, one text for each object."""
    with database.connect() as connection:
        return schema.catalog(connection, name)


def differing(one: list[str], other: list[str]) -> list[str]:
    """Name the objects in which two listings differ; all of their text would be unreadable."""
    return sorted({line.split(" | ")[0] for line in set(one).symmetric_difference(other)})


def invalid_indexes(database: Database) -> list[str]:
    """Name the indexes that a broken build left."""
    return [
        name
        for (name,) in database.execute(
            "select i.indexrelid::regclass::text from pg_index as i"
            " where not i.indisvalid or not i.indisready order by 1"
        )
    ]


def load_rows(database: Database) -> None:
    """Put at least one row into each table."""
    database.execute(ROWS.read_text("utf-8"))


def read_rows(database: Database) -> Rows:
    """Read every row of every table."""
    with database.connect() as connection:
        tables = connection.execute(
            "select c.relname from pg_class as c where c.relkind = 'r'"
            " and c.relnamespace = 'dispatch'::regnamespace order by 1"
        ).fetchall()
        found: Rows = {}
        for (name,) in tables:
            query = psycopg.sql.SQL(
                "select to_jsonb(t) from dispatch.{} as t order by to_jsonb(t)::text"
            ).format(psycopg.sql.Identifier(name))
            found[name] = [row for (row,) in connection.execute(query)]
    return found


def kept(before: Rows, after: Rows) -> Rows:
    """Narrow the rows after an upgrade to the tables and columns that there were before."""
    return {
        table: [
            {column: row[column] for column in before[table][0] if column in row}
            if before[table]
            else row
            for row in after.get(table, [])
        ]
        for table in before
    }


def ordered(rows: Rows) -> Rows:
    """Order rows whatever columns they have."""
    return {table: sorted(found, key=repr) for table, found in rows.items()}


# --- a history of our own -------------------------------------------------------------------

SOONER = """\
create or replace function dispatch._sooner({arguments})
returns interval
language sql
immutable
parallel safe
as $fn$
select p_by{factor};
$fn$;

comment on function dispatch._sooner({types}) is
$doc$Give a time that is less.

Errors: none.$doc$;
"""

NAMES_VIEW = """\
create or replace view dispatch.names as
select
    w.id,
    w.name{more}
from dispatch.workspace as w;

comment on view dispatch.names is
$doc$What workspaces are called.$doc$;
"""

NICKNAME = """
alter table dispatch.workspace add column nickname text;

comment on column dispatch.workspace.nickname is
$doc$What its members call it.$doc$;
"""

TITLES = "create index {how}issue_title_idx on dispatch.issue (workspace_id, title)"

SECOND_HEADER = """\
-- 0002_nicknames: workspaces get nicknames
-- depends: 0001_core
-- locks: ACCESS EXCLUSIVE on workspace.  duration: instant.
-- compat: clients of 0.1.0 keep working.  undo: 0002_nicknames.rollback.sql,
-- which forgets the nicknames.
set local lock_timeout = '300ms';
set local statement_timeout = '1min';
"""

THIRD = f"""\
-- 0003_titles: issues are found by their title
-- depends: 0002_nicknames
-- transactional: false
-- locks: SHARE UPDATE EXCLUSIVE on issue.  duration: minutes, grows with issue.
-- compat: clients of 0.1.0 keep working.  undo: 0003_titles.rollback.sql
set lock_timeout = '300ms';
set statement_timeout = 0;

-- written by pgdispatch dev freeze
-- end of what pgdispatch dev freeze wrote

{TITLES.format(how="concurrently if not exists ")};
"""

THIRD_ROLLBACK = """\
-- 0003_titles.rollback: issues are found by their title, undone
set lock_timeout = '300ms';
set statement_timeout = 0;

drop index concurrently if exists dispatch.issue_title_idx;
"""


@dataclass(frozen=True)
class History:
    """A project with one released migration and two that are not, and its sql/ before."""

    root: Path
    old_sql: Path

    @property
    def sql(self) -> Path:
        """What the schema is after all three."""
        return self.root / "sql"

    @property
    def migrations(self) -> Path:
        """The three migrations."""
        return self.root / "migrations"

    def copy(self, folder: Path, *names: str) -> Path:
        """Copy some of the migrations with their rollbacks and the sums into a folder."""
        folder.mkdir(exist_ok=True)
        for name in names:
            shutil.copy(self.migrations / f"{name}.sql", folder)
            shutil.copy(self.migrations / f"{name}.rollback.sql", folder)
        shutil.copy(self.migrations / "frozen.sha256", folder)
        return folder


def edit(path: Path, before: str, after: str) -> None:
    """Replace a text that stands in a file once."""
    text = path.read_text("utf-8")
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, after), "utf-8")


def make_project(root: Path) -> None:
    """Make a checkout of which sql/ has a few files more, frozen as one migration."""
    shutil.copytree(REPOSITORY / "sql", root / "sql")
    (root / "migrations").mkdir(parents=True)
    (root / "pyproject.toml").write_text('[project]\nversion = "0.0.1.dev0"\n')
    (root / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- Everything.\n")
    functions = root / "sql" / "30_functions" / "clock"
    (functions / "_outgoing.sql").write_text(
        SOONER.replace("_sooner", "_outgoing").format(
            arguments="p_by interval", types="interval", factor=""
        )
    )
    (functions / "_sooner.sql").write_text(
        SOONER.format(arguments="p_by interval", types="interval", factor="")
    )
    (root / "sql" / "50_views" / "names.sql").write_text(NAMES_VIEW.format(more=""))
    schema.freeze(folder=root / "sql", migrations=root / "migrations")


def change_sql(root: Path) -> None:
    """Change, add and remove functions, and give a view and a table a column more."""
    functions = root / "sql" / "30_functions" / "clock"
    (functions / "_outgoing.sql").unlink()
    (functions / "_sooner.sql").write_text(
        SOONER.format(
            arguments="p_by interval, p_times integer",
            types="interval, integer",
            factor=" * p_times",
        )
    )
    (functions / "_later.sql").write_text(
        SOONER.replace("_sooner", "_later").format(
            arguments="p_by interval", types="interval", factor=""
        )
    )
    edit(functions / "key_limit.sql", "as $fn$\n", "as $fn$\n-- In bytes.\n")
    (root / "sql" / "50_views" / "names.sql").write_text(
        NAMES_VIEW.format(more=",\n    w.nickname")
    )
    table = root / "sql" / "20_tables" / "10_workspace.sql"
    table.write_text(table.read_text("utf-8") + NICKNAME, "utf-8")


def make_history(folder: Path) -> History:
    """Release the first migration, then freeze a second, then build an index in a third."""
    root = folder / "project"
    make_project(root)
    schema.release("0.1.0", date(2030, 1, 15), root=root)
    shutil.copytree(root / "sql", folder / "old_sql")
    history = History(root, folder / "old_sql")

    change_sql(root)
    schema.freeze("nicknames", folder=history.sql, migrations=history.migrations)
    second = history.migrations / "0002_nicknames.sql"
    text = second.read_text("utf-8")
    block = text[text.index("-- written by") :]
    second.write_text(f"{SECOND_HEADER}{NICKNAME}\n{block}", "utf-8")
    undo = history.migrations / "0002_nicknames.rollback.sql"
    undo.write_text(
        undo.read_text("utf-8") + "\n-- The old clients do not know the column."
        "\n-- squawk-ignore ban-drop-column"
        "\nalter table dispatch.workspace drop column nickname;\n",
        "utf-8",
    )
    schema.freeze(folder=history.sql, migrations=history.migrations)

    issue = history.sql / "20_tables" / "30_issue.sql"
    issue.write_text(f"{issue.read_text('utf-8')}\n{TITLES.format(how='')};\n", "utf-8")
    (history.migrations / "0003_titles.sql").write_text(THIRD, "utf-8")
    (history.migrations / "0003_titles.rollback.sql").write_text(THIRD_ROLLBACK, "utf-8")
    schema.freeze(folder=history.sql, migrations=history.migrations)
    return history
