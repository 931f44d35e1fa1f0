from __future__ import annotations

import datetime as dt
import inspect
import json
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from pgdispatch import InvalidArgument, Outcome, RunStatus, _calls
from pgdispatch._calls import Shape
from pgdispatch.types import ClaimedRun, Decision, Id, IssueWrite, Transition
from tests.support.calls import AGENT, CALLS, NOON, WS, ZERO, Declared, hint_of, sample


def arguments(*kinds: object) -> list[Any]:
    """List every (call, argument) pair whose argument is of one of the types."""
    return [
        pytest.param(declared, name, id=f"{call}-{name}")
        for call, declared in CALLS.items()
        for name in inspect.signature(declared).parameters
        if hint_of(declared, name)[0] in kinds
    ]


def refused(declared: Declared, **changed: object) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        declared(**{**sample(declared), **changed})
    assert caught.value.sqlstate == "PD400"
    assert caught.value.column is not None
    assert str(caught.value.hint).startswith(f"{caught.value.column}: ")
    return caught.value


def test_every_group_of_functions_is_declared() -> None:
    assert {
        "put_workspace", "can_invoke_agent", "create_issue", "resolve_issue", "queue_wakes",
        "claim_runs", "fail_runs", "reclaim_runs", "pause_workspace", "queue_depth",
        "gate_counters", "clock", "prepare_lease",
    } <= set(CALLS)  # fmt: skip
    assert len(CALLS) > 60


@pytest.mark.parametrize("name", CALLS)
def test_sql_names_every_argument_as_python_does(name: str) -> None:
    declared = CALLS[name]
    call = declared(**sample(declared))
    parameters = list(inspect.signature(declared).parameters)
    assert list(call.args) == parameters
    if name not in {"queue_depth", "gate_counters"}:
        given = ", ".join(f"p_{each} => %({each})s::" for each in parameters)
        assert f"dispatch.{name}(" in call.sql
        assert [part.split("::")[0] + "::" for part in given.split(", ") if part] == [
            part.split("::")[0] + "::"
            for part in call.sql.split(f"dispatch.{name}(")[1].rsplit(")", 1)[0].split(", ")
            if part
        ]


def test_a_scalar_call_reads_as_sql() -> None:
    call = _calls.promote_deferred(WS, max=7)
    assert call.sql == (
        "select dispatch.promote_deferred(p_workspace_id => %(workspace_id)s::uuid, "
        "p_runtime_ids => %(runtime_ids)s::uuid[], p_max => %(max)s::integer)"
    )
    assert call.args == {"workspace_id": WS, "runtime_ids": None, "max": 7}


def test_a_row_call_lists_its_columns() -> None:
    call = _calls.requeue_run(WS, AGENT, 3)
    assert call.sql == (
        "select a.applied, a.run_id, a.status::text, a.claim_no, a.retry_run_id, a.reason, "
        "a.follow_up_run_id from dispatch.requeue_run("
        "p_workspace_id => %(workspace_id)s::uuid, p_run_id => %(run_id)s::uuid, "
        "p_claim_no => %(claim_no)s::integer) as a"
    )


@pytest.mark.parametrize(("declared", "name"), arguments(Id))
def test_malformed_ids_are_refused_by_name(declared: Declared, name: str) -> None:
    for bad in ("", "nonsense", f"{WS}0", f"{{{WS}}}", "\x00", 7, b"x" * 16):
        if name != "reference":
            error = refused(declared, **{name: bad})
            assert (error.column, error.field) == (f"p_{name}", name)


@pytest.mark.parametrize(("declared", "name"), arguments(Id))
def test_the_all_zero_id_is_refused_by_name(declared: Declared, name: str) -> None:
    if name == "reference":
        assert declared(**{**sample(declared), name: ZERO}).args[name] == str(ZERO)
    else:
        assert refused(declared, **{name: ZERO}).column == f"p_{name}"
        assert refused(declared, **{name: str(ZERO)}).column == f"p_{name}"


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        pytest.param(declared, name, id=f"{call}-{name}")
        for call, declared in CALLS.items()
        for name in inspect.signature(declared).parameters
    ],
)
def test_none_is_refused_exactly_where_a_value_is_needed(declared: Declared, name: str) -> None:
    _, optional = hint_of(declared, name)
    if optional:
        assert declared(**{**sample(declared), name: None}).args[name] is None
    else:
        error = refused(declared, **{name: None})
        assert (error.message, error.column) == ("argument missing", f"p_{name}")


@pytest.mark.parametrize(("declared", "name"), arguments(str))
def test_nul_in_text_is_refused_or_replaced(declared: Declared, name: str) -> None:
    for bad in ("a\x00b", "a\ud800b", "\udfff"):
        if name in {"error", "handoff_note"}:
            call = declared(**{**sample(declared), name: bad})
            assert call.args[name] == bad.replace("\x00", "\ufffd").replace(
                "\ud800", "\ufffd"
            ).replace("\udfff", "\ufffd")
        else:
            assert refused(declared, **{name: bad}).column == f"p_{name}"


@pytest.mark.parametrize(("declared", "name"), arguments(str))
def test_what_is_no_text_is_refused(declared: Declared, name: str) -> None:
    assert refused(declared, **{name: 5}).column == f"p_{name}"
    assert refused(declared, **{name: b"bytes"}).column == f"p_{name}"


@pytest.mark.parametrize(("declared", "name"), arguments(int))
def test_what_is_no_integer_of_four_bytes_is_refused(declared: Declared, name: str) -> None:
    for bad in (True, "1", 1.0, 2**31, -(2**31) - 1):
        assert refused(declared, **{name: bad}).column == f"p_{name}"
    assert declared(**{**sample(declared), name: 2**31 - 1}).args[name] == 2**31 - 1


@pytest.mark.parametrize(("declared", "name"), arguments(bool))
def test_what_is_no_boolean_is_refused(declared: Declared, name: str) -> None:
    for bad in (1, 0, "true"):
        assert refused(declared, **{name: bad}).column == f"p_{name}"


@pytest.mark.parametrize(("declared", "name"), arguments(dt.datetime))
def test_naive_times_are_refused(declared: Declared, name: str) -> None:
    naive = dt.datetime(2026, 3, 1, 12)  # noqa: DTZ001
    for bad in (naive, dt.date(2026, 3, 1), "2026-03-01T12:00Z", 0):
        error = refused(declared, **{name: bad})
        assert isinstance(error, ValueError)
        assert error.column == f"p_{name}"


@pytest.mark.parametrize(("declared", "name"), arguments(dt.timedelta))
def test_intervals_are_timedeltas_and_sent_in_seconds(declared: Declared, name: str) -> None:
    for bad in (30, 30.0, "30 seconds", dt.timedelta.max, dt.timedelta.min):
        assert refused(declared, **{name: bad}).column == f"p_{name}"
    for given, sent in (
        (dt.timedelta(days=1), "86400.000000 seconds"),
        (dt.timedelta(microseconds=1), "0.000001 seconds"),
        (dt.timedelta(seconds=-1, microseconds=-5), "-1.000005 seconds"),
        (dt.timedelta(), "0.000000 seconds"),
    ):
        assert declared(**{**sample(declared), name: given}).args[name] == sent


def test_ids_may_be_text_in_two_forms() -> None:
    for given in (str(WS), str(WS).upper(), WS.hex):
        assert _calls.claim_run(given, AGENT).args["workspace_id"] == WS


def test_a_list_of_ids_names_the_element() -> None:
    assert _calls.heartbeat(WS, (str(AGENT), ZERO)).args["runtime_ids"] == [AGENT, ZERO]
    assert _calls.heartbeat(WS, (each for each in [AGENT])).args["runtime_ids"] == [AGENT]
    assert _calls.heartbeat(WS, []).args["runtime_ids"] == []
    assert refused(_calls.heartbeat, runtime_ids=[AGENT, "x"]).column == "p_runtime_ids[1]"
    assert refused(_calls.heartbeat, runtime_ids=[None]).column == "p_runtime_ids[0]"
    for bad in (str(AGENT), AGENT, {AGENT: 1}, b"x"):
        assert refused(_calls.heartbeat, runtime_ids=bad).column == "p_runtime_ids"


def test_members_of_word_sets_are_sent_as_their_words() -> None:
    sent = _calls.set_agent_status(WS, AGENT, RunStatus.QUEUED).args["status"]
    assert sent == "queued"
    assert type(sent) is str
    assert payload({"outcome": Outcome.NONE}) == {"outcome": "none"}


def payload(value: object) -> object:
    return json.loads(str(_calls.queue_wake(WS, AGENT, "reason", value).args["payload"]))


def test_payloads_are_any_json() -> None:
    for value in (
        {},
        [],
        [1, None],
        "text",
        0,
        1.5,
        True,
        {"a": {"b": ["é", "😀", "\\u0000"]}},
    ):
        assert payload(value) == value
    assert payload(Jsonb(None)) is None
    assert payload(Jsonb({"a": 1})) == {"a": 1}
    assert payload({"task_id": AGENT, "at": NOON}) == {
        "task_id": str(AGENT),
        "at": "2026-03-01T12:00:00+00:00",
    }
    assert _calls.queue_wake(WS, AGENT, "reason").args["payload"] == "{}"


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


def circular() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(float("nan"), id="nan"),
        pytest.param({"a": [float("inf")]}, id="inf"),
        pytest.param(-float("inf"), id="-inf"),
        pytest.param("a\x00", id="nul"),
        pytest.param({"a\x00": 1}, id="nul in a key"),
        pytest.param(["\\\x00"], id="nul behind a backslash"),
        pytest.param({"a": "\ud83d"}, id="surrogate"),
        pytest.param({"a": object()}, id="object"),
        pytest.param({("a",): 1}, id="key"),
        pytest.param(b"bytes", id="bytes"),
        pytest.param({"at": dt.datetime(2026, 1, 1)}, id="naive"),  # noqa: DTZ001
        pytest.param(10**5000, id="digits"),
        pytest.param(deep(), id="deep"),
        pytest.param(circular(), id="circular"),
    ],
)
def test_what_is_no_storable_json_is_refused_by_name(bad: object) -> None:
    assert refused(_calls.queue_wake, payload=bad).column == "p_payload"
    assert refused(_calls.update_issue, changes={"title": bad}).column == "p_changes.title"
    wakes = [{"payload": {}}, {"payload": bad}]
    assert refused(_calls.queue_wakes, wakes=wakes).column == "p_wakes[1].payload"


def test_a_result_survives_any_text() -> None:
    given = {"out\x00": ["a\x00b\x00\x00", "\\\x00", "\\u0000", "\ud800x", "\\\\\x00"]}
    sent = str(_calls.complete_run(WS, AGENT, 1, given).args["result"])
    sent.encode()
    assert json.loads(sent) == {
        "out\ufffd": ["a\ufffdb\ufffd\ufffd", "\\\ufffd", "\\u0000", "\ufffdx", "\\\\\ufffd"]
    }
    for bad in (float("nan"), object()):
        assert refused(_calls.complete_run, result=bad).column == "p_result"


def test_changes_are_an_object() -> None:
    for bad in ([], "title", 5, [("title", "T")]):
        assert refused(_calls.update_issue, changes=bad).column == "p_changes"
    assert refused(_calls.update_issue, changes={5: "T"}).column == "p_changes"
    sent = _calls.update_issue(
        WS, AGENT, {"assignee": {"type": "agent", "id": AGENT}}, "system"
    )
    assert json.loads(str(sent.args["changes"])) == {
        "assignee": {"type": "agent", "id": str(AGENT)}
    }


def test_batch_elements_take_python_values() -> None:
    wakes = [
        {"agent_id": AGENT, "reason": "r", "fire_at": NOON, "payload": {"k": [1]}, "extra": 1},
        {"agent_id": WS.hex, "coalesce": False, "issue_id": None},
    ]
    assert json.loads(str(_calls.queue_wakes(WS, wakes).args["wakes"])) == [
        {
            "agent_id": str(AGENT),
            "reason": "r",
            "fire_at": "2026-03-01T12:00:00+00:00",
            "payload": {"k": [1]},
            "extra": 1,
        },
        {"agent_id": str(WS), "coalesce": False, "issue_id": None},
    ]
    reports = ({"run_id": AGENT, "claim_no": 1, "lease": dt.timedelta(minutes=1)} for _ in "a")
    assert json.loads(str(_calls.start_runs(WS, reports).args["reports"])) == [
        {"run_id": str(AGENT), "claim_no": 1, "lease": "60.000000 seconds"}
    ]
    assert _calls.start_runs(WS, []).args["reports"] == "[]"


def test_batch_elements_of_a_wrong_shape_are_left_to_the_function() -> None:
    sent = _calls.queue_wakes(WS, [7, None, {"agent_id": 5}])  # type: ignore[list-item]
    assert json.loads(str(sent.args["wakes"])) == [7, None, {"agent_id": 5}]


def test_batch_errors_name_the_element() -> None:
    for bad, column in (
        ([{}, {"agent_id": "x"}], "p_wakes[1].agent_id"),
        ([{"reason": "\x00"}], "p_wakes[0].reason"),
        ([{"fire_at": dt.datetime(2026, 1, 1)}], "p_wakes[0].fire_at"),  # noqa: DTZ001
        ([{"lease": dt.timedelta.max}], "p_wakes[0].lease"),
        ([{"k\x00": 1}], "p_wakes[0]"),
        ({"agent_id": WS}, "p_wakes"),
        ("[]", "p_wakes"),
        (5, "p_wakes"),
    ):
        assert refused(_calls.queue_wakes, wakes=bad).column == column


def test_batch_reports_survive_any_text() -> None:
    reports = [{"run_id": AGENT, "error": "x\x00y", "result": {"o": "\x00"}}]
    assert json.loads(str(_calls.fail_runs(WS, reports).args["reports"])) == [
        {"run_id": str(AGENT), "error": "x\ufffdy", "result": {"o": "\ufffd"}}
    ]


def test_resolve_issue_takes_an_id_or_an_identifier() -> None:
    assert _calls.resolve_issue(WS, "ABC-42").args["reference"] == "ABC-42"
    assert _calls.resolve_issue(WS, AGENT).args["reference"] == str(AGENT)


@pytest.mark.parametrize("row", [Decision, IssueWrite, Transition, ClaimedRun])
def test_rows_are_read_by_position_with_their_words(row: type[Any]) -> None:
    shape = Shape(row)
    names = [part.removeprefix("a.") for part in shape.columns.split(", ")]
    values = tuple("queued" if name.endswith("::text") else name for name in names)
    read = shape.one([values])
    for name, value in zip(names, values, strict=True):
        found = getattr(read, name.removesuffix("::text"))
        assert found == value
        assert hasattr(found, "known") == name.endswith("::text")
    assert shape.first([]) is None
    assert shape.all([values, values]) == [read, read]


def test_a_word_that_is_null_stays_none() -> None:
    row = (False, None, None, None, None, "not_found", None)
    assert _calls.start_run(WS, AGENT, 1).read([row]) == Transition(*row)


def test_answers_without_rows() -> None:
    assert _calls.claim_run(WS, AGENT).read([]) is None
    assert _calls.claim_runs(WS, [AGENT]).read([]) == []
    assert _calls.put_team(WS, AGENT, "T").read([("",)]) is None
    assert _calls.heartbeat(WS, []).read([(2,)]) == 2
