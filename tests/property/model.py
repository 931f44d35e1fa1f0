"""What the queue must do, in plain Python: written from the rules, not from the SQL.

One run is one object, one set of rules is one method, and time is an argument. What is not
modelled is kept out of the generated programs: gates that refuse, merges, pauses, squads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

ACTIVE = frozenset({"dispatched", "waiting_local_directory", "running"})
TERMINAL = frozenset({"completed", "failed", "cancelled"})
SLOT = frozenset({"queued", "dispatched"})
RETRYABLE = frozenset({"timeout", "runtime_offline", "runtime_recovery"})

PREPARE = timedelta(seconds=45)
RECOVERY = timedelta(seconds=90)
FRESH = timedelta(seconds=150)
#: How long a key counts before the slot; later it counts after it.
RECENT = timedelta(hours=24)


@dataclass
class Run:
    """One run: where it stands, and the wakes that it stands for."""

    order: int
    agent: int
    issue: int | None
    chat: int | None
    payload: int
    priority: int
    requested_at: datetime
    status: str = "queued"
    attempt: int = 1
    max_attempts: int = 2
    claim_no: int = 0
    fire_at: datetime | None = None
    dispatched_at: datetime | None = None
    lease: datetime | None = None
    is_retry: bool = False
    key: str | None = None
    #: Its wakes by payload: all of them, and those that came too late for its claim.
    wakes: Counter[int] = field(default_factory=Counter)
    owed: Counter[int] = field(default_factory=Counter)
    #: The arguments of the report that ended it.
    report: tuple[object, ...] | None = None
    retry: Run | None = None
    follow_up: Run | None = None

    @property
    def lane(self) -> tuple[str, int]:
        """What serialises the run within its agent."""
        if self.issue is not None:
            return "issue", self.issue
        return ("chat", self.chat) if self.chat is not None else ("quick_create", 0)

    @property
    def place(self) -> tuple[int, datetime, int]:
        """Its place in the order of claims."""
        return -self.priority, self.requested_at, self.order


@dataclass(frozen=True)
class Answer:
    """What a transition answers."""

    applied: bool
    reason: str | None = None


APPLIED = Answer(True)


class Queue:
    """All runs of a workspace, its agents' capacities, and when its runtimes were seen."""

    def __init__(self, capacities: dict[int, int], now: datetime) -> None:
        self.capacities = capacities
        #: Agent N is served by runtime N.
        self.seen_at = dict.fromkeys(capacities, now)
        self.runs: list[Run] = []

    # Admission

    def wake(
        self,
        now: datetime,
        agent: int,
        *,
        issue: int | None,
        chat: int | None,
        payload: int,
        priority: int,
        key: str | None,
        fire_at: datetime | None,
        max_attempts: int,
    ) -> tuple[str, Run]:
        """Decide about a wake that may not merge: its outcome and its run."""
        later = fire_at is not None and fire_at > now
        known = next((run for run in self.runs if key and run.key == key), None)
        if known is not None and known.requested_at > now - RECENT:
            return "deduplicated", known
        holder = self.slot(agent, issue)
        if holder is not None and not later:
            self._record(holder, Counter({payload: 1}))
            return "absorbed", holder
        if known is not None:
            return "deduplicated", known
        run = self._add(Run(len(self.runs), agent, issue, chat, payload, priority, now))
        run.key = key
        run.max_attempts = max_attempts
        run.wakes[payload] += 1
        if later:
            run.status, run.fire_at = "deferred", fire_at
        return run.status, run

    def slot(self, agent: int, issue: int | None) -> Run | None:
        """Find the run of a pair that was not started yet."""
        return next(
            (
                run
                for run in self.runs
                if issue is not None
                and (run.agent, run.issue) == (agent, issue)
                and run.status in SLOT
            ),
            None,
        )

    def _add(self, run: Run) -> Run:
        self.runs.append(run)
        return run

    def _record(self, run: Run, wakes: Counter[int]) -> None:
        run.wakes += wakes
        if run.status == "dispatched":
            run.owed += wakes

    # Claims

    def fresh(self, agent: int, now: datetime) -> bool:
        """Tell whether the agent's runtime was seen lately."""
        return self.seen_at[agent] >= now - FRESH

    def active(self, agent: int) -> list[Run]:
        """List the runs that count against an agent's capacity."""
        return [run for run in self.runs if run.agent == agent and run.status in ACTIVE]

    def promote(self, now: datetime, agents: Iterable[int]) -> list[Run]:
        """Queue what is due: of each pair the best, where its slot is free."""
        due = [
            run
            for run in self.runs
            if run.agent in set(agents)
            and run.status == "deferred"
            and run.fire_at is not None
            and run.fire_at <= now
            and self.fresh(run.agent, now)
        ]
        moved = []
        for run in sorted(due, key=lambda run: run.place):
            if self.slot(run.agent, run.issue) is None:
                run.status = "queued"
                moved.append(run)
        return moved

    def reclaim(
        self, now: datetime, agents: Iterable[int], most: int, lease: timedelta = PREPARE
    ) -> list[Run]:
        """Hand out again the claims that were never confirmed."""
        stale = [
            run
            for run in self.runs
            if run.agent in set(agents)
            and run.status == "dispatched"
            and run.dispatched_at is not None
            and run.dispatched_at < now - RECOVERY
            and (run.lease is None or run.lease < now)
            and self.fresh(run.agent, now)
        ]
        stale.sort(key=lambda run: (-run.priority, run.dispatched_at or now, run.order))
        for run in stale[:most]:
            self._hand_out(run, now, now + lease)
        return stale[:most]

    def claim(
        self,
        now: datetime,
        agents: Iterable[int],
        most: int,
        per_agent: int,
        *,
        start: bool = False,
        lease: timedelta | None = None,
    ) -> list[Run]:
        """Claim queued runs: capacity, one a lane, best first."""
        chosen: list[Run] = []
        for agent in agents:
            if not self.fresh(agent, now):
                continue
            free = min(per_agent, self.capacities[agent] - len(self.active(agent)))
            lanes = {run.lane for run in self.active(agent)}
            mine = [run for run in self.runs if run.agent == agent and run.status == "queued"]
            for run in sorted(mine, key=lambda run: run.place):
                if free > 0 and run.lane not in lanes:
                    chosen.append(run)
                    lanes.add(run.lane)
                    free -= 1
        chosen.sort(key=lambda run: run.place)
        for run in chosen[:most]:
            if start:
                self._hand_out(run, now, None if lease is None else now + lease)
                run.status = "running"
            else:
                self._hand_out(run, now, now + (lease or PREPARE))
                run.status = "dispatched"
        return chosen[:most]

    def _hand_out(self, run: Run, now: datetime, lease: datetime | None) -> None:
        run.claim_no += 1
        run.dispatched_at = now
        run.lease = lease
        run.owed.clear()

    # Transitions

    def start(self, run: Run, no: int, now: datetime, lease: timedelta | None) -> Answer:
        """Begin a claimed or waiting run."""
        if refusal := self._refusal(run, no, {"dispatched", "waiting_local_directory"}):
            return refusal
        run.status = "running"
        run.lease = None if lease is None else now + lease
        self._settle(run, now)
        return APPLIED

    def wait(self, run: Run, no: int, now: datetime) -> Answer:
        """Let a claimed run wait."""
        if refusal := self._refusal(run, no, {"dispatched"}):
            return refusal
        run.status, run.lease = "waiting_local_directory", now + PREPARE
        self._settle(run, now)
        return APPLIED

    def extend(self, run: Run, no: int, now: datetime, lease: timedelta | None) -> Answer:
        """Prolong a lease that lasts."""
        if refusal := self._refusal(run, no, ACTIVE):
            return refusal
        if run.lease is None:
            return Answer(False, "wrong_state")
        if run.lease < now:
            return Answer(False, "lease_expired")
        run.lease = max(run.lease, now + (lease or PREPARE))
        return APPLIED

    def requeue(self, run: Run, no: int) -> Answer:
        """Give a claim back."""
        if refusal := self._refusal(run, no, {"dispatched"}):
            return refusal
        run.status, run.lease, run.dispatched_at = "queued", None, None
        return APPLIED

    def defer(self, run: Run, no: int, now: datetime, until: datetime) -> Answer:
        """Put a claimed, waiting or running run off."""
        if refusal := self._refusal(run, no, ACTIVE):
            return refusal
        run.status, run.fire_at = "deferred", max(until, now)
        run.lease = run.dispatched_at = None
        return APPLIED

    def complete(self, run: Run, no: int, result: object) -> Answer:
        """End a running run."""
        report = ("completed", result)
        if refusal := self._refusal(run, no, {"running"}, report):
            return refusal
        self._end(run, "completed", report)
        return APPLIED

    def fail(self, run: Run, no: int, now: datetime, reason: str) -> Answer:
        """End a run that failed, and repeat it where that is due."""
        report = ("failed", reason)
        if refusal := self._refusal(run, no, ACTIVE, report):
            return refusal
        self._end(run, "failed", report)
        if (
            reason not in RETRYABLE
            or run.attempt >= run.max_attempts
            or not (run.issue is not None or run.chat is not None)
        ):
            self._settle(run, now)
            return APPLIED
        run.owed.clear()
        holder = self.slot(run.agent, run.issue)
        if holder is not None:
            self._record(holder, run.wakes)
            return APPLIED
        priority = run.priority if run.chat is None else max(run.priority, 3)
        run.retry = self._successor(run, run.wakes, now, priority)
        run.retry.attempt = run.attempt + 1
        run.retry.is_retry = True
        return APPLIED

    def cancel(self, run: Run) -> Answer:
        """End a run that is not wanted any more, and all that is recorded on it."""
        if run.status in TERMINAL:
            return Answer(False, "already_terminal")
        self._end(run, "cancelled", None)
        run.owed.clear()
        return APPLIED

    def recover(self, agent: int, now: datetime) -> list[Run]:
        """Fail what a restarted daemon had in hand."""
        lost = self.active(agent)
        for run in lost:
            self.fail(run, run.claim_no, now, "runtime_recovery")
        return lost

    def _end(self, run: Run, status: str, report: tuple[object, ...] | None) -> None:
        run.status, run.report, run.lease = status, report, None

    def _settle(self, run: Run, now: datetime) -> None:
        """Give the wakes that came too late for a claim to the pair's next run."""
        if not run.owed:
            return
        late, run.owed = run.owed, Counter()
        holder = self.slot(run.agent, run.issue)
        if holder is not None:
            self._record(holder, late)
            run.follow_up = holder
        else:
            run.follow_up = self._successor(run, late, now, run.priority)

    def _successor(self, run: Run, wakes: Counter[int], now: datetime, priority: int) -> Run:
        return self._add(
            Run(
                len(self.runs),
                run.agent,
                run.issue,
                run.chat,
                run.payload,
                priority,
                now,
                max_attempts=run.max_attempts,
                wakes=Counter(wakes),
            )
        )

    def _refusal(
        self,
        run: Run,
        no: int,
        allowed: Iterable[str],
        report: tuple[object, ...] | None = None,
    ) -> Answer | None:
        """Say why a report does not apply; a repeated last one applies without effect."""
        if no != run.claim_no:
            return Answer(False, "superseded")
        if report is not None and run.report == report:
            return APPLIED
        if run.status in TERMINAL:
            return Answer(False, "already_terminal")
        if run.status not in set(allowed):
            return Answer(False, "wrong_state")
        return None
