"""Threads of random public calls, an observer, and what must hold in the end.

The choices of a thread follow from the seed and its number; how the threads interleave is up to
the machine. With one thread the same seed makes the same calls.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.concurrency.support import Connection, call, one, rows
from tests.support.servers import Database

#: What may be refused in a run of random calls: an agent that was archived, a slot in motion.
REFUSALS = frozenset({"PD403", "PD409"})
ENDED = ("completed", "failed", "cancelled")
FINAL = ("queued_expired", "runtime_reconnect_timeout")

# The time of day and what was jumped over. It never goes back, whoever reads it when.
CLOCK = """
create table public.jumps (by interval not null);
grant select on public.jumps to dispatch_owner;
create or replace function dispatch.clock()
returns timestamptz
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return clock_timestamp()
    + coalesce((select sum(j.by) from public.jumps as j), interval '0');
end;
$fn$;
"""

BROKEN = """
select 'capacity' as rule, a.id from dispatch.run as r
inner join dispatch.agent as a on a.workspace_id = r.workspace_id and a.id = r.agent_id
where r.status in ('dispatched', 'waiting_local_directory', 'running')
group by a.id, a.max_concurrent_runs having count(*) > a.max_concurrent_runs
union all
select 'lane', r.agent_id from dispatch.run as r
where r.status in ('dispatched', 'waiting_local_directory', 'running')
group by r.agent_id, r.lane having count(*) > 1
union all
select 'slot', r.agent_id from dispatch.run as r
where r.status in ('queued', 'dispatched') and r.issue_id is not null
group by r.agent_id, r.issue_id having count(*) > 1
union all
select 'half a run', r.id from dispatch.run as r
where not exists (
    select from dispatch.run_detail as d
    where d.workspace_id = r.workspace_id and d.run_id = r.id
)
union all
select 'two children', d.parent_run_id from dispatch.run_detail as d
where d.parent_run_id is not null
group by d.parent_run_id having count(*) > 1
"""

TERMINAL = """
select r.id, r::text as row, d.failure_reason, d.result
from dispatch.run as r
inner join dispatch.run_detail as d on d.workspace_id = r.workspace_id and d.run_id = r.id
where r.status in ('completed', 'failed', 'cancelled')
"""

CARRIERS = """
select
    (c.payload ->> 'n')::integer as n, c.comment_id, r.agent_id, r.status::text, r.claim_no,
    d.failure_reason, d.error
from (
    select d.run_id, d.payload, d.comment_id from dispatch.run_detail as d
    union
    select t.run_id, t.payload, t.comment_id from dispatch.run_trigger as t
) as c
inner join dispatch.run as r on r.id = c.run_id
inner join dispatch.run_detail as d on d.run_id = c.run_id
"""


#: What a claim delivers: a wake by its number, a comment by its id and the agent that it woke.
Wake = int | tuple[str, uuid.UUID]

ACCEPTED = ("queued", "coalesced", "absorbed", "deferred")


class Soak:
    """A workspace, threads that do anything to it, and the record of what they were told."""

    def __init__(self, db: Database, seed: int, threads: int = 6) -> None:
        self.db = db
        self.seed = seed
        self.count = threads
        self.workspace = uuid.uuid4()
        self.owner = uuid.uuid4()
        self.runtimes = [uuid.uuid4(), uuid.uuid4()]
        self.agents: list[uuid.UUID] = []
        self.issues: list[uuid.UUID] = []
        self.chats = [uuid.uuid4() for _ in range(3)]
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.is_crashing = False
        self.errors: list[BaseException] = []
        self.accepted: set[Wake] = set()
        self.delivered: set[Wake] = set()
        self.claims: dict[tuple[uuid.UUID, int], int] = {}
        self.ends: Counter[uuid.UUID] = Counter()
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.tokens = 0
        with db.connect() as admin:
            admin.execute(CLOCK.encode())
            self._make(admin)

    def _make(self, admin: Connection) -> None:
        call(admin, "put_workspace", self.workspace, name="Acme")
        call(admin, "put_member", self.workspace, user_id=self.owner, name="Ana", role="owner")
        for number, runtime in enumerate(self.runtimes):
            call(
                admin,
                "put_runtime",
                self.workspace,
                runtime_id=runtime,
                daemon_id=f"daemon-{number}",
            )
        for number in range(3):
            self.hire(admin, number)
        for _ in range(4):
            made = one(admin, "create_issue", self.workspace, title="work", actor_type="system")
            self.issues.append(made["issue_id"])
        self.beat(admin)

    def hire(self, connection: Connection, number: int) -> None:
        """Store a new agent in a place, where another one may have been archived."""
        agent = uuid.uuid4()
        call(
            connection,
            "put_agent",
            self.workspace,
            agent_id=agent,
            name=f"agent {agent}",
            owner_id=self.owner,
            runtime_id=self.runtimes[number % 2],
            max_concurrent_runs=2**number,
        )
        with self.lock:
            self.agents[number : number + 1] = [agent]

    def beat(self, connection: Connection) -> None:
        """Let both runtimes be seen."""
        call(connection, "heartbeat", self.workspace, runtime_ids=self.runtimes)

    # Running

    def run(self, seconds: float, crash: Callable[[], None] | None = None) -> None:
        """Let everybody work for so long; with `crash` the server is gone in the end."""
        workers = [Worker(self, number) for number in range(self.count)]
        tasks: list[Callable[[Connection], None]] = [each.work for each in workers]
        tasks += [self._keep_alive, self._observe]
        threads = [threading.Thread(target=self._guarded, args=[task]) for task in tasks]
        for thread in threads:
            thread.start()
        self.stopping.wait(seconds)
        if crash is None:
            self.stopping.set()
        else:
            self.is_crashing = True
            crash()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def _guarded(self, task: Callable[[Connection], None]) -> None:
        try:
            with self.db.connect() as connection:
                task(connection)
        except psycopg.OperationalError as error:
            if not self.is_crashing:
                self._failed(error)
        except BaseException as error:
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        self.errors.append(error)
        self.stopping.set()

    def _keep_alive(self, connection: Connection) -> None:
        choice = random.Random(f"{self.seed} heartbeats")
        while not self.stopping.wait(choice.choice([0.02, 0.05, 0.05, 0.3])):
            alive = choice.choice([self.runtimes, self.runtimes, self.runtimes[:1]])
            call(connection, "heartbeat", self.workspace, runtime_ids=alive)

    def _observe(self, connection: Connection) -> None:
        """See from outside that no promise is ever broken and nothing ended moves."""
        ended: dict[uuid.UUID, dict[str, Any]] = {}
        while not self.stopping.wait(0.005):
            assert rows(connection, BROKEN) == []
            for row in rows(connection, TERMINAL):
                assert ended.setdefault(row["id"], row) == row

    # What was told

    def token(self) -> int:
        """Number a wake."""
        with self.lock:
            self.tokens += 1
            return self.tokens

    def got(self, claimed: list[dict[str, Any]]) -> None:
        """Note claims and what they deliver; no claim is ever handed out twice."""
        with self.lock:
            for run in claimed:
                claim = (run["run_id"], run["claim_no"])
                assert claim not in self.claims, f"claimed twice: {claim}"
                self.claims[claim] = run["attempt"]
                for trigger in run["triggers"]:
                    said = trigger["comment_id"]
                    self.delivered.add(
                        (said, run["agent_id"]) if said else trigger["payload"]["n"]
                    )

    def ended(self, answer: dict[str, Any]) -> None:
        """Note the end of a run; it has one."""
        if answer["applied"]:
            with self.lock:
                self.ends[answer["run_id"]] += 1
                assert self.ends[answer["run_id"]] == 1, f"ended twice: {answer}"

    # The end

    def drain(self) -> None:
        """Do all that is left, as daemons would after a bad night."""
        with self.db.connect() as admin:
            call(admin, "resume_workspace", self.workspace, actor_type="system")
            for agent in self.agents:
                call(admin, "set_agent_status", self.workspace, agent_id=agent, status="active")
            for runtime in self.runtimes:
                self.beat(admin)
                call(admin, "recover_runtime", self.workspace, runtime_id=runtime)
            for _ in range(200):
                admin.execute(b"insert into public.jumps (by) values ('1 hour')")
                self.beat(admin)
                call(admin, "promote_deferred", self.workspace)
                for runtime in self.runtimes:
                    while self._work_off(admin, runtime):
                        pass
                left = rows(
                    admin,
                    "select from dispatch.run as r where r.status::text <> all(%s)",
                    [list(ENDED)],
                )
                if not left:
                    return
            raise AssertionError(f"{len(left)} runs cannot be worked off")

    def _work_off(self, connection: Connection, runtime: uuid.UUID) -> bool:
        given = {"runtime_ids": [runtime], "max": 99, "per_agent": 99, "start": True}
        claimed = call(connection, "claim_runs", self.workspace, **given)
        self.got(claimed)
        for run in claimed:
            report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
            if run["reclaimed"]:
                one(connection, "start_run", self.workspace, **report)
            answer = one(connection, "complete_run", self.workspace, **report)
            assert answer["applied"]
            self.ended(answer)
        return bool(claimed)

    def check(self) -> None:
        """See that all ended once, and that no accepted wake went missing."""
        with self.db.connect() as admin:
            assert rows(admin, BROKEN) == []
            stands = rows(admin, "select r.id, r.status::text from dispatch.run as r")
            assert {row["status"] for row in stands} <= set(ENDED)
            assert set(self.ends) <= {row["id"] for row in stands}
            carriers: dict[Wake, list[dict[str, Any]]] = {}
            for row in rows(admin, CARRIERS):
                said = row["comment_id"]
                key = (str(said), row["agent_id"]) if said else row["n"]
                carriers.setdefault(key, []).append(row)
        for wake in self.accepted:
            assert wake in carriers, f"wake {wake} is nowhere"
            if wake in self.delivered or self.is_crashing:
                continue
            # Not delivered: then the run that stood for it last was cancelled or expired; one
            # that an edit or a deletion of a comment has cancelled was followed by another.
            assert any(
                (run["status"] == "cancelled" and not str(run["error"]).startswith("comment"))
                or run["failure_reason"] in FINAL
                for run in carriers[wake]
            ), f"wake {wake} was never delivered: {carriers[wake]}"


class Worker:
    """One thread: what it has in hand, and its choices."""

    def __init__(self, soak: Soak, number: int) -> None:
        self.soak = soak
        self.choice = random.Random(f"{soak.seed} {number}")
        self.held: list[dict[str, Any]] = []
        self.said: list[uuid.UUID] = []
        self.steps: list[Callable[[Connection], None]] = [
            step
            for step, often in {
                self.wake: 14,
                self.say: 6,
                self.edit: 2,
                self.unsay: 1,
                self.claim: 12,
                self.start: 10,
                self.finish: 9,
                self.wait: 2,
                self.extend: 2,
                self.requeue: 1,
                self.defer: 1,
                self.cancel: 2,
                self.rerun: 2,
                self.sweep: 3,
                self.tick: 1,
                self.promote: 1,
                self.reclaim: 1,
                self.recover: 1,
                self.pause: 1,
                self.stop: 1,
                self.archive: 1,
                self.go_silent: 1,
                self.jump: 1,
            }.items()
            for _ in range(often)
        ]

    def work(self, connection: Connection) -> None:
        """Do one thing after the other."""
        while not self.soak.stopping.is_set():
            step = self.choice.choice(self.steps)
            try:
                step(connection)
            except psycopg.DatabaseError as error:
                if error.sqlstate not in REFUSALS:
                    raise
                with self.soak.lock:
                    self.soak.refused[error.sqlstate or ""] += 1
            with self.soak.lock:
                self.soak.done[step.__name__] += 1

    # Helpers

    def call(self, connection: Connection, name: str, **given: Any) -> list[dict[str, Any]]:
        return call(connection, name, self.soak.workspace, **given)

    def one(self, connection: Connection, name: str, **given: Any) -> dict[str, Any]:
        return one(connection, name, self.soak.workspace, **given)

    def agent(self) -> uuid.UUID:
        with self.soak.lock:
            return self.choice.choice(self.soak.agents)

    def lease(self) -> timedelta | None:
        return self.choice.choice([None, None, timedelta(seconds=2), timedelta(seconds=90)])

    def report(self) -> dict[str, Any] | None:
        """Name a claim of one's own, sometimes with a number that was never handed out."""
        if not self.held:
            return None
        held = self.choice.choice(self.held)
        back = self.choice.choice([0] * 15 + [1, -1])
        return {"run_id": held["run_id"], "claim_no": max(held["claim_no"] - back, 0)}

    def took(self, claimed: list[dict[str, Any]]) -> None:
        self.soak.got(claimed)
        self.held += claimed

    def some_run(self, connection: Connection) -> uuid.UUID | None:
        """Choose any run there is."""
        (found,) = rows(connection, "select count(*) as runs from dispatch.run as r")
        if not found["runs"]:
            return None
        place = self.choice.randrange(found["runs"])
        picked = rows(
            connection,
            "select r.id from dispatch.run as r order by r.id offset %s limit 1",
            [place],
        )
        return picked[0]["id"] if picked else None

    # Steps

    def wake(self, connection: Connection) -> None:
        number = self.soak.token()
        kind = self.choice.choice(["issue"] * 4 + ["chat", "none"])
        later = self.choice.choice([None] * 6 + [0.05, 30])
        given: dict[str, Any] = {
            "agent_id": self.agent(),
            "reason": "work",
            "payload": {"n": number},
            "priority": self.choice.randrange(4),
            "max_attempts": self.choice.choice([1, 2, 3]),
            "coalesce": self.choice.random() < 0.5,
        }
        if kind == "issue":
            given["issue_id"] = self.choice.choice(self.soak.issues)
        elif kind == "chat":
            given["chat_session_id"] = self.choice.choice(self.soak.chats)
        if later is not None:
            (now,) = rows(connection, "select dispatch.clock() as at")
            given["fire_at"] = now["at"] + timedelta(seconds=later)
        decision = self.one(connection, "queue_wake", **given)
        if decision["outcome"] in ACCEPTED:
            with self.soak.lock:
                self.soak.accepted.add(number)

    def words(self) -> dict[str, Any]:
        """Say something to one or two agents."""
        agents = {self.agent() for _ in range(self.choice.choice([1, 1, 2]))}
        return {
            "body": f"Do {self.soak.token()}.",
            "mentions": Jsonb([{"type": "agent", "id": str(each)} for each in agents]),
        } | self.speaker

    @property
    def speaker(self) -> dict[str, Any]:
        return {"actor_type": "user", "actor_id": self.soak.owner}

    def told(self, comment: uuid.UUID, answers: list[dict[str, Any]]) -> None:
        """Note whom a comment has woken, and nobody else from before."""
        key = str(comment)
        with self.soak.lock:
            self.soak.accepted = {
                wake for wake in self.soak.accepted if isinstance(wake, int) or wake[0] != key
            } | {
                (key, answer["target_id"])
                for answer in answers
                if answer["comment_id"] == comment and answer["outcome"] in ACCEPTED
            }

    def say(self, connection: Connection) -> None:
        issue = self.choice.choice(self.soak.issues)
        answers = self.call(connection, "add_comment", issue_id=issue, **self.words())
        self.said.append(answers[0]["comment_id"])
        self.told(answers[0]["comment_id"], answers)

    def edit(self, connection: Connection) -> None:
        if self.said:
            comment = self.choice.choice(self.said)
            answers = self.call(connection, "edit_comment", comment_id=comment, **self.words())
            self.told(comment, answers)

    def unsay(self, connection: Connection) -> None:
        if self.said:
            comment = self.said.pop(self.choice.randrange(len(self.said)))
            self.call(connection, "delete_comment", comment_id=comment, **self.speaker)
            self.told(comment, [])

    def claim(self, connection: Connection) -> None:
        if self.choice.random() < 0.3:
            self.took(self.call(connection, "claim_run", agent_id=self.agent()))
            return
        given = {
            "runtime_ids": [self.choice.choice(self.soak.runtimes)],
            "max": self.choice.randrange(1, 5),
            "per_agent": self.choice.randrange(1, 4),
            "start": self.choice.random() < 0.3,
            "lease": self.lease(),
        }
        self.took(self.call(connection, "claim_runs", **given))

    def start(self, connection: Connection) -> None:
        if report := self.report():
            self.one(connection, "start_run", **report, lease=self.lease())

    def finish(self, connection: Connection) -> None:
        if not (report := self.report()):
            return
        note = str(uuid.UUID(int=self.choice.getrandbits(128)))
        if self.choice.random() < 0.5:
            answer = self.one(connection, "complete_run", **report, result={"note": note})
        else:
            reason = self.choice.choice(
                ["timeout", "runtime_offline", "agent_error.provider_network", "agent_error"]
            )
            answer = self.one(
                connection, "fail_run", **report, failure_reason=reason, error=note
            )
        self.soak.ended(answer)
        self.held = [held for held in self.held if held["run_id"] != report["run_id"]]

    def wait(self, connection: Connection) -> None:
        if report := self.report():
            self.one(connection, "wait_run", **report, wait_reason="busy")

    def extend(self, connection: Connection) -> None:
        if report := self.report():
            self.one(connection, "extend_lease", **report, lease=self.lease())

    def requeue(self, connection: Connection) -> None:
        if report := self.report():
            self.one(connection, "requeue_run", **report)

    def defer(self, connection: Connection) -> None:
        if report := self.report():
            (now,) = rows(connection, "select dispatch.clock() as at")
            until = now["at"] + timedelta(seconds=self.choice.choice([-1, 0.1, 30]))
            self.one(connection, "defer_run", **report, until=until)

    def cancel(self, connection: Connection) -> None:
        if run := self.some_run(connection):
            self.soak.ended(self.one(connection, "cancel_run", run_id=run, actor_type="system"))

    def rerun(self, connection: Connection) -> None:
        if run := self.some_run(connection):
            self.one(
                connection,
                "rerun",
                run_id=run,
                actor_type="user",
                actor_id=self.soak.owner,
            )

    def sweep(self, connection: Connection) -> None:
        only = self.choice.choice(
            ["runtimes", "dispatched", "running", "offline", "queued", "reconnect"]
        )
        most = self.choice.choice([1, 5, 500])
        rows(connection, "select from dispatch.sweep(%s, %s) as s", [most, only])

    def tick(self, connection: Connection) -> None:
        only = self.choice.choice(["replay", "promote", "prune"])
        rows(connection, "select from dispatch.tick(%s) as t", [only])

    def promote(self, connection: Connection) -> None:
        self.call(connection, "promote_deferred", max=self.choice.choice([1, 500]))

    def reclaim(self, connection: Connection) -> None:
        runtime = self.choice.choice(self.soak.runtimes)
        self.took(self.call(connection, "reclaim_runs", runtime_ids=[runtime], max=3))

    def recover(self, connection: Connection) -> None:
        if self.choice.random() < 0.2:
            runtime = self.choice.choice(self.soak.runtimes)
            for answer in self.call(connection, "recover_runtime", runtime_id=runtime):
                if answer["status"] == "failed":
                    self.held = [
                        held for held in self.held if held["run_id"] != answer["run_id"]
                    ]

    def pause(self, connection: Connection) -> None:
        if self.choice.random() < 0.2:
            self.call(connection, "pause_workspace", actor_type="system", reason="drill")
        self.call(connection, "resume_workspace", actor_type="system")

    def stop(self, connection: Connection) -> None:
        agent = self.agent()
        for status in ("paused", "active"):
            self.call(connection, "set_agent_status", agent_id=agent, status=status)

    def archive(self, connection: Connection) -> None:
        if self.choice.random() < 0.2:
            place = self.choice.randrange(len(self.soak.agents))
            with self.soak.lock:
                agent = self.soak.agents[place]
            self.call(connection, "archive_agent", agent_id=agent)
            self.soak.hire(connection, place)

    def go_silent(self, connection: Connection) -> None:
        runtime = self.choice.choice(self.soak.runtimes)
        self.call(connection, "set_runtime_offline", runtime_id=runtime)
        time.sleep(self.choice.choice([0, 0.02]))
        self.call(connection, "heartbeat", runtime_ids=[runtime])

    def jump(self, connection: Connection) -> None:
        by = self.choice.choice([1, 1, 5, 46, 91, 151, 301, 301, 7201, 9001, 10801])
        rows(
            connection,
            "insert into public.jumps (by) values (make_interval(secs => %s))",
            [by],
        )
