from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

import pytest

from pgdispatch import (
    ClaimedRun,
    CommentAnswer,
    Decision,
    Dispatch,
    GateCounter,
    IssueWrite,
    Outcome,
    QueueDepth,
    ReasonCode,
    RunStatus,
    Transition,
)
from pgdispatch.types import Label
from tests.support.servers import Database

HANDLING = {"call", "close", "transaction"}
# Read from views; there are no functions of these names.
VIEWS = {"queue_depth", "gate_counters"}
# The predicate is a seam of the schema: it takes a row, and other functions call it.
SEAMS = {"will_enqueue_run"}

METHODS = {
    name: getattr(Dispatch, name)
    for name in vars(Dispatch)
    if not name.startswith("_") and name not in HANDLING
}

FUNCTIONS = """
    select p.proname, p.proargnames[1:p.pronargs], p.pronargdefaults,
        pg_get_function_arguments(p.oid), obj_description(p.oid)
    from pg_proc as p
    where p.pronamespace = 'dispatch'::regnamespace
        and p.prokind = 'f' and p.prorettype <> 'trigger'::regtype
        and p.proname !~ '^_'
"""


def functions(db: Database) -> dict[str, tuple[list[str], int, str, str]]:
    rows = db.execute(FUNCTIONS)
    assert len({name for name, *_ in rows}) == len(rows), "a public function is overloaded"
    return {
        name: (names or [], defaults, text, comment or "")
        for name, names, defaults, text, comment in rows
        if name not in SEAMS
    }


def test_every_public_function_has_its_method(db: Database) -> None:
    assert set(functions(db)) == set(METHODS) - VIEWS


def test_arguments_have_the_names_and_the_order_of_the_function(db: Database) -> None:
    found = {
        name: [f"p_{each}" for each in inspect.signature(METHODS[name]).parameters][1:]
        for name in functions(db)
    }
    assert found == {name: names for name, (names, *_) in functions(db).items()}


def test_defaults_are_those_of_the_function(db: Database) -> None:
    for name, (names, defaults, text, _) in functions(db).items():
        parameters = list(inspect.signature(METHODS[name]).parameters.values())[1:]
        given = [each for each in parameters if each.default is not inspect.Parameter.empty]
        assert len(given) == defaults, name
        assert given == parameters[len(parameters) - defaults :], name
        stated = re.findall(r"(p_\w+) [^,]*? DEFAULT (.+?)(?=, p_|$)", text)
        assert [each[0] for each in stated] == names[len(names) - defaults :], name
        assert {each: literal(default) for each, default in stated} == {
            f"p_{each.name}": {} if each.name == "payload" else each.default for each in given
        }, name
        if "payload" in {each.name for each in given}:
            assert dict(inspect.signature(METHODS[name]).parameters["payload"].default) == {}


def literal(default: str) -> object:
    """Read a default as the catalog prints it."""
    value = default.split("::")[0]
    if value == "NULL":
        return None
    if value in {"true", "false"}:
        return value == "true"
    if value in {"'{}'", "'[]'"}:
        return {} if value == "'{}'" else ()
    return value[1:-1] if value.startswith("'") else int(value)


def test_docstrings_begin_with_the_comment_of_the_function(db: Database) -> None:
    found = {
        name: " ".join(inspect.getdoc(METHODS[name]).split("\n\n")[0].split())  # type: ignore[union-attr]
        for name in functions(db)
    }
    stated = {
        name: " ".join(comment.split("\n\n")[0].split())
        for name, (*_, comment) in functions(db).items()
    }
    assert found == stated


@pytest.mark.parametrize(
    ("words", "name"),
    [(Outcome, "outcome"), (RunStatus, "run_status"), (ReasonCode, "reason_code")],
)
def test_word_sets_are_those_of_the_database(
    db: Database, words: type[Label], name: str
) -> None:
    labels = db.value(f"select enum_range(null::dispatch.{name})::text[]")
    assert [word.value for word in words] == labels


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (Decision, "decision"),
        (IssueWrite, "issue_write"),
        (CommentAnswer, "comment_answer"),
        (Transition, "transition"),
        (ClaimedRun, "claimed_run"),
        (QueueDepth, "queue_depth"),
        (GateCounter, "gate_counters"),
    ],
)
def test_rows_have_the_columns_of_their_types(db: Database, row: type[Any], name: str) -> None:
    columns = db.execute(
        """
        select a.attname
        from pg_attribute as a
        where a.attrelid = to_regclass('dispatch.' || %s) and a.attnum > 0
            and not a.attisdropped
        order by a.attnum
        """,
        [name],
    )
    assert [each.name for each in dataclasses.fields(row)] == [each for (each,) in columns]
