"""The rules for sql/ hold, and the lint that checks them can fail."""

from __future__ import annotations

import pytest

from pgdispatch.schema import SqlFile
from tests.support import lint
from tests.support.servers import Database


def test_the_files_keep_the_rules() -> None:
    assert [str(finding) for finding in lint.lint_files()] == []


def test_the_bodies_keep_the_rules(db: Database) -> None:
    with db.connect() as connection:
        assert [str(finding) for finding in lint.lint_database(connection)] == []


def test_plpgsql_check_finds_nothing(db: Database) -> None:
    with db.connect() as connection:
        found = lint.check_plpgsql(connection)
    if found is None:
        pytest.skip(f"plpgsql_check is not installed on {db.server.name}")
    assert [str(finding) for finding in found] == []


def test_plpgsql_check_is_fatal(db: Database) -> None:
    db.execute(
        "set check_function_bodies = off; create function dispatch._wrong() returns void"
        " language plpgsql as 'begin delete from dispatch.no_such_table; end'"
    )
    with db.connect() as connection:
        found = lint.check_plpgsql(connection)
    if found is None:
        pytest.skip(f"plpgsql_check is not installed on {db.server.name}")
    assert any("no_such_table" in str(finding) for finding in found)


def test_a_body_in_plain_sql_is_compiled(db: Database) -> None:
    db.execute(
        "set check_function_bodies = off; create function dispatch._wrong() returns integer"
        " language sql as 'select n.a from dispatch.no_such_table as n'"
    )
    with db.connect() as connection:
        found = lint.lint_database(connection)
    assert any(
        finding.place == "dispatch._wrong()" and "no_such_table" in finding.rule
        for finding in found
    )


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("begin RETURN 1; end", "upper-case word RETURN"),
        ("begin perform (select * from dispatch.run); end", "every column"),
        ("begin delete from dispatch.run as r returning r.*; end", "every column"),
        ("begin v := now(); end", "clock other than"),
        ("begin v := current_timestamp; end", "clock other than"),
        ("begin\nreturn exists (\nselect where a < dispatch.clock()\n); end", "inside a query"),
        ("begin null; exception when others then null; end", "catches errors"),
        ("begin\n    execute 'select 1';\nend", "line 2: dynamic SQL"),
        ("begin raise exception 'bad'; end", "without a code"),
        (
            "begin raise exception using errcode = 'PD400', message = 'm', column = 'p_a',"
            " hint = 'p_b: do.'; end",
            "does not begin with p_a:",
        ),
        (
            "begin raise exception using errcode = 'PD400', message = 'm'; end",
            "without column",
        ),
        (
            "begin raise exception using errcode = 'P0001', message = 'm', column = 'p_a',"
            " hint = 'p_a: do.'; end",
            "not of class PD",
        ),
        ("begin perform dispatch._raise('PD999', 'no', 'p_a', 'x'); end", "class PD"),
        ("begin perform dispatch._raise('PD400', 'No.', 'p_a', 'x'); end", "lower-case phrase"),
    ],
)
def test_a_body_that_breaks_a_rule_is_found(body: str, rule: str) -> None:
    assert any(rule in found for found in lint.lint_body("f", body)), rule


@pytest.mark.parametrize(
    "body",
    [
        "begin return count(*) from dispatch.run as r; end",
        "begin\n    -- Don't SELECT * here, it's slow.\n    return 'SELECT * FROM now()';\nend",
        "begin\n    -- The name is not known before.\n    execute format('drop %I', v);\nend",
        "begin perform dispatch._raise('PD400', 'text too long', 'p_a', 'at most 9.'); end",
        "begin raise exception using errcode = 'PD400', message = 'm', column = 'p_a',"
        " hint = 'p_a: do.'; end",
    ],
)
def test_a_body_that_keeps_the_rules_passes(body: str) -> None:
    assert list(lint.lint_body("f", body)) == []


def test_a_catcher_lets_the_end_of_a_call_through() -> None:
    careless = "begin null; exception when others then null; end"
    careful = (
        "begin null; exception when query_canceled or feature_not_supported then raise;"
        " when others then if sqlstate like '40%' then raise; end if; end"
    )
    assert len(list(lint.lint_body("read_payload", careless))) == 3
    assert list(lint.lint_body("read_payload", careful)) == []


GOOD = """\
create or replace function dispatch.f(p_a integer)
returns setof integer
language sql
immutable
parallel safe
rows 1
as $fn$
select p_a;
$fn$;

comment on function dispatch.f(integer) is
$doc$Give it back.

Errors: none.$doc$;
"""


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("dispatch.f(", "dispatch.g(", "holds g, not f alone"),
        ("immutable\nparallel safe", "parallel safe\nimmutable", "out of order"),
        ("parallel safe\n", "", "no parallel label"),
        ("rows 1\n", "", "without a rows estimate"),
        ("Errors: none.", "", "Errors: line"),
        ("language sql", "LANGUAGE sql", "upper-case word LANGUAGE"),
        ("language sql\n", "language sql \n", "trailing blank"),
        ("select p_a;", "select p_a" + " + 1" * 30 + ";", "longer than 96"),
        ("comment on function", "-- comment on function", "no comment"),
    ],
)
def test_a_file_that_breaks_a_rule_is_found(old: str, new: str, rule: str) -> None:
    path = "sql/30_functions/area/f.sql"
    assert list(lint.lint_file(SqlFile(path, GOOD))) == []
    changed = SqlFile(path, GOOD.replace(old, new))
    assert any(rule in found for found in lint.lint_file(changed))
