"""Every reason code has branches that give it, and no body holds a word outside the sets."""

from __future__ import annotations

import re

import pytest

from pgdispatch.types import Outcome, ReasonCode
from tests.support.servers import Database

#: Which functions give each code. A new place is added here, on purpose.
GIVEN_BY: dict[str, set[str]] = {
    "queued": {"_insert_decision", "_preview_wake"},
    "coalesced": {"_absorb_wake", "_preview_wake"},
    "deferred": {"_insert_decision", "_explain_claim"},
    "duplicate_recent": {"_settle_wake", "_preview_wake", "_explain_gates"},
    "duplicate_key": {"_take_back", "_preview_wake", "_explain_gates"},
    "already_active": {"_absorb_wake", "_preview_wake", "_self_trigger"},
    "allowance_exhausted": {"_allowance_verdict", "_settle_wake", "_preview_wake"},
    "invocation_not_allowed": {"_agent_verdict", "_assignee_refusal", "_judge_target", "rerun"},
    "target_unavailable": {
        "_agent_verdict", "_assignee_refusal", "_judge_target", "_read_mentions",
    },
    "agent_runtime_required": {"_agent_verdict", "_explain_claim", "_judge_target"},
    "runtime_offline": {"_explain_claim", "_judge_target"},
    "runtime_unusable": {"_agent_verdict", "_explain_claim", "_judge_target"},
    "attribution_blocked": {"_gate_wakes", "_acting_run_originator", "_check_wake_actors"},
    "paused": {"_pause_verdict"},
    "pause_unreadable": {"_pause_verdict"},
    "agent_not_runnable": {"_agent_verdict"},
    "self_trigger_suppressed": {"_self_trigger"},
    "not_triggered": {
        "_comment_answers", "_wake_issues", "update_issues", "_explain_predicate",
        "_explain_claim",
    },
}  # fmt: skip

#: Codes whose branch is not written yet: whoever writes it moves the code into the table.
LATER = {"internal_error"}

#: The predicate's words for no run, and the one of the write that asked for none.
WORDS = {
    "no_assignee", "member_assignee", "not_a_start_signal", "parked_in_backlog", "closed",
    "unbound", "archived", "squad_unavailable", "leader_offline", "runtime_unusable",
    "not_invocable", "self_loop", "active_self_assignment", "already_pending", "suppressed",
}  # fmt: skip

PREDICATE = {"_start_signal", "_run_target", "_standing_run", "will_enqueue_run"}

#: Literals of the predicate's functions that are values of rows and arguments.
VALUES = {
    "agent", "squad", "assign", "status", "backlog", "done", "cancelled", "offline", "online",
    "not_executable", "queued", "dispatched", "waiting_local_directory", "running",
    "p_workspace_id", "p_issue", "p_is_create", "p_assignee_changed", "p_status_changed",
    "p_actor_type", "p_check_access",
}  # fmt: skip


@pytest.fixture(scope="module")
def bodies(catalog_db: Database) -> dict[str, str]:
    """The functions' bodies without their comments, by name."""
    found = catalog_db.execute(
        "select p.proname, p.prosrc from pg_proc as p"
        " where p.pronamespace = 'dispatch'::regnamespace and p.prokind = 'f'"
    )
    return {name: re.sub(r"--[^\n]*", "", body) for name, body in found}


def literals(body: str) -> set[str]:
    return set(re.findall(r"'([a-z_]+)'", body))


def test_the_table_knows_every_code() -> None:
    assert set(GIVEN_BY) | LATER == {code.value for code in ReasonCode}
    assert not set(GIVEN_BY) & LATER


@pytest.mark.parametrize("code", [code.value for code in ReasonCode])
def test_a_code_is_given_where_the_table_says(bodies: dict[str, str], code: str) -> None:
    wanted = GIVEN_BY.get(code, set())
    missing = {name for name in wanted if code not in literals(bodies[name])}
    assert missing == set()
    assert bool(wanted) != (code in LATER)


@pytest.mark.parametrize("code", sorted(set(GIVEN_BY) - {"queued", "deferred", "paused"}))
def test_no_other_body_gives_it(bodies: dict[str, str], code: str) -> None:
    """A body that compares with the code or counts it gives it to nobody."""
    only_reads = {
        "_admit_wakes", "_blocked_decision", "_gate_metric", "_record_gate_event",
        "_replay_assignment", "_refuse_assignee", "_merge_wake", "_passed_assignees",
        "_explain_gates", "_run_target", "_prune", "_record_refusals", "_wake_targets",
    }  # fmt: skip
    if code == "runtime_offline":  # also a run's failure reason, which is another set
        only_reads |= {"_is_retryable", "_retry_delay", "_sweep_candidates"}
    found = {name for name, body in bodies.items() if code in literals(body)}
    assert found - GIVEN_BY[code] - only_reads == set()


@pytest.mark.parametrize("code", sorted(LATER))
def test_a_code_of_later_is_given_nowhere(bodies: dict[str, str], code: str) -> None:
    assert [name for name, body in bodies.items() if code in literals(body)] == []


def test_the_predicate_has_no_word_of_its_own(bodies: dict[str, str]) -> None:
    for name in PREDICATE:
        assert literals(bodies[name]) - VALUES <= WORDS, name
    used = set().union(*(literals(bodies[name]) for name in PREDICATE | {"_wake_issues"}))
    assert used >= WORDS


def test_decisions_are_of_the_closed_sets(bodies: dict[str, str]) -> None:
    """A body writes only labels of the two sets into a decision."""
    outcomes, codes = {each.value for each in Outcome}, {each.value for each in ReasonCode}
    decisions = 0
    for name, body in bodies.items():
        for outcome, code in re.findall(
            r"row\(\s*'(\w+)',\s*(\S+?),(?=[^;]*?\)::dispatch\.decision)", body
        ):
            decisions += 1
            assert outcome in outcomes, name
            assert not code.startswith("'") or code.strip("'") in codes, name
        for cast in re.findall(r"'(\w+)'::dispatch\.reason_code", body):
            assert cast in codes, name
    assert decisions >= 10
