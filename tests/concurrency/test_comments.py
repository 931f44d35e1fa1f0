"""Comments against whoever else moves the pair's runs: none is lost, none delivered twice."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.concurrency.support import (
    Connection,
    Crew,
    Fleet,
    Row,
    background,
    deadlocks,
    make_fleet,
    rows,
    until_blocked,
)
from tests.support.servers import Database

ROUNDS = 100


def saying(
    fleet: Fleet, issue: uuid.UUID, body: str = "Please.", **given: Any
) -> Callable[[Connection], list[Row]]:
    """Make a task for a crew: the owner mentions the fleet's agents, all in one comment."""
    mentions = [{"type": "agent", "id": str(agent)} for agent in fleet.agents]
    given = {"mentions": Jsonb(mentions), **given}
    return fleet.calling(
        "add_comment", issue_id=issue, body=body, actor_type="user", actor_id=fleet.owner,
        **given,
    )  # fmt: skip


def changing(
    fleet: Fleet, function: str, comment: uuid.UUID, **given: Any
) -> Callable[[Connection], list[Row]]:
    """Make a task for a crew: an edit or a deletion of a comment by the owner."""
    if function == "edit_comment":
        mentions = [{"type": "agent", "id": str(agent)} for agent in fleet.agents]
        given = {"body": "Better.", "mentions": Jsonb(mentions), **given}
    return fleet.calling(
        function, comment_id=comment, actor_type="user", actor_id=fleet.owner, **given
    )


def refused(task: Callable[[Connection], list[Row]]) -> Callable[[Connection], list[Row] | str]:
    """Give the SQLSTATE where the task is refused; any other error is raised."""

    def attempt(connection: Connection) -> list[Row] | str:
        try:
            return task(connection)
        except psycopg.Error as exc:
            if exc.sqlstate != "PD404":
                raise
            return exc.sqlstate

    return attempt


def races(
    number: int, one: Callable[[Connection], Any], two: Callable[[Connection], Any]
) -> tuple[Callable[[Connection], Any], Callable[[Connection], Any]]:
    """Give one of two tasks a few round trips to make first, so that either comes to lead."""
    trips = number % 10 * 3

    def late(connection: Connection, task: Callable[[Connection], Any]) -> Any:
        for _ in range(trips):
            rows(connection, "select 1")
        return task(connection)

    if number // 10 % 2:
        return lambda connection: late(connection, one), two
    return one, lambda connection: late(connection, two)


def report_of(run: Row) -> Row:
    """Name a claimed run and its claim."""
    return {"run_id": run["run_id"], "claim_no": run["claim_no"]}


def comments_of(claimed: list[Row]) -> list[str]:
    """List the comment of each wake that claimed runs deliver."""
    return [
        trigger["comment_id"]
        for run in claimed
        for trigger in run["triggers"]
        for _ in range(trigger["count"])
    ]


def drained(fleet: Fleet, connection: Connection) -> list[str]:
    """Do all that is queued; list the comments that were delivered."""
    delivered = []
    while claimed := fleet.claims(connection, 50, per_agent=50):
        delivered += comments_of(claimed)
        for run in claimed:
            assert fleet.one(connection, "start_run", **report_of(run))["applied"]
            assert fleet.one(connection, "complete_run", **report_of(run))["applied"]
    return sorted(delivered)


def ids(*answers: list[Row]) -> list[str]:
    """List the comments that answers speak of."""
    return sorted(str(answer[0]["comment_id"]) for answer in answers)


def live(fleet: Fleet, connection: Connection) -> list[Row]:
    return fleet.runs(connection, "status not in ('completed', 'failed', 'cancelled')")


def test_two_comments_on_a_pair_are_one_run(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for _ in range(ROUNDS):
            one, two = crew.together(saying(fleet, issue))
            assert sorted(each[0]["outcome"] for each in (one, two)) == ["coalesced", "queued"]
            assert one[0]["run_id"] == two[0]["run_id"]
            assert drained(fleet, admin) == ids(one, two)
    assert deadlocks(db) == 0


def test_comments_that_name_agents_in_any_order_wait_and_never_deadlock(db: Database) -> None:
    fleet = make_fleet(db, agents=4)
    names = [{"type": "agent", "id": str(agent)} for agent in fleet.agents]
    with Crew(db, 4) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for number in range(ROUNDS // 2):
            if number % 2:
                saying(fleet, issue)(admin)
            answers = crew.together(
                *(
                    saying(fleet, issue, mentions=Jsonb(names[turn:] + names[:turn]))
                    for turn in range(4)
                )
            )
            assert all(len(each) == 4 for each in answers)
            delivered = Counter(drained(fleet, admin))
            assert {delivered[each] for each in ids(*answers)} == {4}
    assert deadlocks(db) == 0


def test_a_comment_racing_a_claim_is_delivered_once(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        came: Counter[str] = Counter()
        for number in range(ROUNDS):
            first = saying(fleet, issue)(admin)
            second, claimed = crew.together(
                *races(
                    number,
                    saying(fleet, issue),
                    fleet.calling("claim_run", agent_id=fleet.agent),
                )
            )
            came[second[0]["outcome"]] += 1
            delivered = comments_of(claimed)
            for run in claimed:
                fleet.one(admin, "start_run", **report_of(run))
                fleet.one(admin, "complete_run", **report_of(run))
            assert sorted(delivered + drained(fleet, admin)) == ids(first, second)
        assert set(came) == {"coalesced", "absorbed"}, f"nothing was raced: {came}"
    assert deadlocks(db) == 0


def test_a_comment_racing_a_start_is_delivered_once(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        came: Counter[str] = Counter()
        for number in range(ROUNDS):
            first = saying(fleet, issue)(admin)
            (run,) = fleet.claim(admin)
            second, started = crew.together(
                *races(number, saying(fleet, issue), fleet.doing("start_run", **report_of(run)))
            )
            assert started["applied"]
            came[second[0]["outcome"]] += 1
            assert (started["follow_up_run_id"] is not None) == (
                second[0]["outcome"] == "absorbed"
            )
            fleet.one(admin, "complete_run", **report_of(run))
            assert sorted(comments_of([run]) + drained(fleet, admin)) == ids(first, second)
        assert set(came) == {"queued", "absorbed"}, f"nothing was raced: {came}"
    assert deadlocks(db) == 0


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_comment_waits_for_an_uncommitted_deletion_of_its_issue(
    db: Database, ending: str
) -> None:
    fleet = make_fleet(db)
    with db.connect(autocommit=False) as first, db.connect() as second:
        (issue,) = fleet.issues(second, 1)
        fleet.call(first, "delete_issue", issue_id=issue, actor_type="system")
        with background(lambda: refused(saying(fleet, issue))(second)) as answer:
            until_blocked(db, second, first)
            getattr(first, ending)()
            said = answer.result()
        if ending == "commit":
            assert said == "PD404"
        else:
            assert said[0]["outcome"] == "queued"
        assert len(live(fleet, second)) == (ending == "rollback")


def test_an_issue_that_goes_takes_its_comments_and_their_runs(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        came: Counter[str] = Counter()
        for number in range(ROUNDS):
            (issue,) = fleet.issues(admin, 1)
            said, _ = crew.together(
                *races(
                    number,
                    refused(saying(fleet, issue)),
                    fleet.calling("delete_issue", issue_id=issue, actor_type="system"),
                )
            )
            came["late" if said == "PD404" else "early"] += 1
            assert live(fleet, admin) == []
            assert rows(admin, "select from dispatch.comment") == []
        assert len(came) == 2, f"only one side ever won, so nothing was raced: {came}"
    assert deadlocks(db) == 0


def test_a_reply_racing_the_deletion_of_its_parent(db: Database) -> None:
    """The reply is refused, or goes with its parent; no run stands for what is gone."""
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        came: Counter[str] = Counter()
        for number in range(ROUNDS):
            parent = saying(fleet, issue)(admin)[0]["comment_id"]
            said, _ = crew.together(
                *races(
                    number,
                    refused(saying(fleet, issue, parent_id=parent)),
                    changing(fleet, "delete_comment", parent),
                )
            )
            came["late" if said == "PD404" else "early"] += 1
            assert live(fleet, admin) == []
            assert rows(admin, "select from dispatch.comment") == []
        assert len(came) == 2, f"only one side ever won, so nothing was raced: {came}"
    assert deadlocks(db) == 0


@pytest.mark.parametrize("function", ["edit_comment", "delete_comment"])
def test_a_comment_that_joins_a_run_which_is_taken_back_is_kept(
    db: Database, function: str
) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        came: Counter[str] = Counter()
        for number in range(ROUNDS):
            first = saying(fleet, issue)(admin)
            before = fleet.claim(admin) if number % 2 else []
            changed, second = crew.together(
                *races(
                    number // 2,
                    changing(fleet, function, first[0]["comment_id"]),
                    saying(fleet, issue),
                )
            )
            came[second[0]["outcome"]] += 1
            # A claim that was handed out before is void: its run is cancelled.
            for run in before:
                report = fleet.one(admin, "start_run", **report_of(run))
                assert (report["applied"], report["reason"]) == (False, "already_terminal")
            wanted = ids(second) + (ids(first) if function == "edit_comment" else [])
            assert drained(fleet, admin) == sorted(wanted)
            assert {each["comment_id"] for each in changed} <= {
                first[0]["comment_id"], second[0]["comment_id"],
            }  # fmt: skip
        assert len(came) >= 2, f"nothing was raced: {came}"
    assert deadlocks(db) == 0


@pytest.mark.parametrize("function", ["edit_comment", "delete_comment"])
def test_a_change_racing_a_claim_leaves_no_run_of_the_old_text(
    db: Database, function: str
) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        won: Counter[bool] = Counter()
        for number in range(ROUNDS):
            (said,) = saying(fleet, issue)(admin)
            _, claimed = crew.together(
                *races(
                    number,
                    changing(fleet, function, said["comment_id"]),
                    fleet.calling("claim_run", agent_id=fleet.agent),
                )
            )
            (old,) = fleet.runs(admin, "id = %s", said["run_id"])
            assert (old["status"], old["claim_no"]) == (
                "cancelled",
                int(any(run["run_id"] == said["run_id"] for run in claimed)),
            )
            won[old["claim_no"] == 1] += 1
            standing = [run["id"] for run in live(fleet, admin)]
            assert len(standing) == (function == "edit_comment")
            for run in claimed:
                if run["run_id"] in standing:
                    fleet.one(admin, "start_run", **report_of(run))
                    fleet.one(admin, "complete_run", **report_of(run))
            drained(fleet, admin)
        assert len(won) == 2, f"only one side ever won, so nothing was raced: {won}"
    assert deadlocks(db) == 0


def test_a_failure_racing_a_deletion_leaves_no_retry_of_it(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        retried: Counter[bool] = Counter()
        for number in range(ROUNDS):
            (said,) = saying(fleet, issue)(admin)
            (run,) = fleet.claims(admin, start=True)
            reason = ("timeout", "runtime_offline")[number % 2]
            _, failed = crew.together(
                *races(
                    number // 2,
                    changing(fleet, "delete_comment", said["comment_id"]),
                    fleet.doing("fail_run", **report_of(run), failure_reason=reason),
                )
            )
            retried[failed["retry_run_id"] is not None] += 1
            assert live(fleet, admin) == []
        assert len(retried) == 2, f"only one side ever won, so nothing was raced: {retried}"
    assert deadlocks(db) == 0


def test_changes_of_comments_of_several_agents_wait_and_never_deadlock(db: Database) -> None:
    fleet = make_fleet(db, agents=3)
    names = [{"type": "agent", "id": str(agent)} for agent in fleet.agents]
    with Crew(db, 3) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for _ in range(ROUNDS // 2):
            said = [saying(fleet, issue)(admin)[0]["comment_id"] for _ in range(3)]
            one, two, three = crew.together(
                changing(fleet, "edit_comment", said[0], mentions=Jsonb(names[::-1])),
                changing(fleet, "edit_comment", said[1], mentions=Jsonb(names[1:])),
                changing(fleet, "delete_comment", said[2]),
            )
            assert all((one, two, three))
            delivered = Counter(drained(fleet, admin))
            assert delivered == {str(said[0]): 3, str(said[1]): 2}
    assert deadlocks(db) == 0


def test_two_changes_that_swap_agents_wait_and_never_deadlock(db: Database) -> None:
    fleet = make_fleet(db, agents=2)
    one, two = ([{"type": "agent", "id": str(agent)}] for agent in fleet.agents)
    with Crew(db, 2) as crew, db.connect() as admin:
        issues = fleet.issues(admin, 2)
        for _ in range(ROUNDS):
            first, second = (
                saying(fleet, issue, mentions=Jsonb(named))(admin)[0]["comment_id"]
                for issue, named in zip(issues, (one, two), strict=True)
            )
            crew.together(
                changing(fleet, "edit_comment", first, mentions=Jsonb(two)),
                changing(fleet, "edit_comment", second, mentions=Jsonb(one)),
            )
            assert drained(fleet, admin) == sorted(map(str, (first, second)))
    assert deadlocks(db) == 0


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_deletion_waits_for_an_uncommitted_rerun(db: Database, ending: str) -> None:
    """Else the new run would stand for a comment that is gone."""
    fleet = make_fleet(db)
    with db.connect(autocommit=False) as first, db.connect() as second:
        (issue,) = fleet.issues(second, 1)
        (said,) = saying(fleet, issue)(second)
        fleet.claims(second, start=True)
        fleet.one(
            first, "rerun", run_id=said["run_id"], actor_type="user", actor_id=fleet.owner
        )
        deleting = changing(fleet, "delete_comment", said["comment_id"])
        with background(lambda: deleting(second)) as answer:
            until_blocked(db, second, first)
            getattr(first, ending)()
            answer.result()
        assert live(fleet, second) == []
        assert len(fleet.runs(second)) == (2 if ending == "commit" else 1)


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_an_edit_waits_for_an_uncommitted_completion(db: Database, ending: str) -> None:
    """What a completed run has delivered is not queued again."""
    fleet = make_fleet(db)
    with db.connect(autocommit=False) as first, db.connect() as second:
        (issue,) = fleet.issues(second, 1)
        (edited,), (other,) = (saying(fleet, issue)(second) for _ in range(2))
        (run,) = fleet.claims(second, start=True)
        assert fleet.one(first, "complete_run", **report_of(run))["applied"]
        editing = changing(fleet, "edit_comment", edited["comment_id"])
        with background(lambda: editing(second)) as answer:
            until_blocked(db, second, first)
            getattr(first, ending)()
            told = [each["comment_id"] for each in answer.result()]
        again = [] if ending == "commit" else [other["comment_id"]]
        assert told == [*again, edited["comment_id"]]
        assert drained(fleet, second) == sorted(map(str, told))


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_comments_work_at_stricter_levels(db: Database, level: str) -> None:
    fleet = make_fleet(db)
    with db.connect() as strict, db.connect() as other:
        strict.execute(f"set default_transaction_isolation = '{level}'".encode())
        (issue,) = fleet.issues(strict, 1)
        one, two = (saying(fleet, issue)(strict)[0] for _ in range(2))
        assert [one["outcome"], two["outcome"]] == ["queued", "coalesced"]
        edited = changing(fleet, "edit_comment", one["comment_id"])(strict)
        assert [each["outcome"] for each in edited] == ["queued", "coalesced"]
        with strict.transaction(force_rollback=True):
            rows(strict, "select from dispatch.run")
            fleet.claim(other)
            # The run that the comment would join has moved since this transaction began.
            with pytest.raises(psycopg.errors.SerializationFailure):
                saying(fleet, issue)(strict)
        deleted = changing(fleet, "delete_comment", one["comment_id"])(strict)
        assert [each["comment_id"] for each in deleted] == [two["comment_id"]]
        assert drained(fleet, other) == [str(two["comment_id"])]
