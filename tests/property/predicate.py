"""What a write to an issue must start, as the rules say it: plain Python over a small world.

Nothing here knows how the database stores or asks; the rules stand in the order in which they
are written down, one function each: who may invoke, whom an issue may be assigned to, whether a
write starts a run and for whom, whom a comment asks for work, and what the gates of admission
make of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

WORKSPACE = 1
MEMBERS = (11, 12, 13, 14)
STRANGER = 19
TEAM = 15
ONLINE, OFFLINE, UNUSABLE = 21, 22, 23
ACTIVE = ("dispatched", "waiting_local_directory", "running")
PENDING = ("queued", "dispatched")
DAY = 86_400
ALLOWANCE, ALLOWANCE_WINDOW, COALESCE_WINDOW = 5, 600, 5


@dataclass(frozen=True)
class Agent:
    """An agent; `grants` are pairs of a target's kind and id."""

    id: int
    owner: int | None
    permission: str
    runtime: int | None
    archived: bool
    status: str
    grants: frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Squad:
    """A squad and who leads it."""

    id: int
    leader: int
    archived: bool


@dataclass(frozen=True)
class Issue:
    """An issue; `handed_on` agents' assignments of it made runs within the last minutes."""

    id: int | None
    status: str
    assignee: tuple[str, int] | None
    generation: int = 0
    handed_on: int = 0


@dataclass(frozen=True)
class Run:
    """A run of an issue; a `keyed` one has the key of the issue's next assignment."""

    id: int
    agent: int
    issue: int
    status: str
    age: int
    reason: str
    keyed: bool
    originator: int | None
    accountable: int | None
    squad: int | None = None
    leads: bool = False
    comment: int | None = None


@dataclass(frozen=True)
class Comment:
    """What was said on an issue; `mentions` are pairs of a kind and an id."""

    id: int
    issue: int
    author: tuple[str, int | None]
    mentions: tuple[tuple[str, int], ...] = ()
    parent: int | None = None
    is_note: bool = False


@dataclass(frozen=True)
class World:
    """All that a write may depend on."""

    policy: str
    paused: bool
    team: frozenset[int]
    agents: dict[int, Agent]
    squads: dict[int, Squad]
    issues: dict[int, Issue]
    runs: list[Run] = field(default_factory=list)
    comments: dict[int, Comment] = field(default_factory=dict)

    def run(self, number: int | None) -> Run | None:
        """Find a run."""
        return next((run for run in self.runs if run.id == number), None)


@dataclass(frozen=True)
class Actor:
    """Who writes, and in which run."""

    kind: str
    id: int | None = None
    run: int | None = None


@dataclass(frozen=True)
class Write:
    """Fields to write; `assignee` counts only when `assigned`."""

    status: str | None
    assigned: bool
    assignee: tuple[str, int] | None


@dataclass(frozen=True)
class Will:
    """What the predicate says."""

    agent: int | None = None
    squad: int | None = None
    source: str | None = None
    why: str | None = None


@dataclass(frozen=True)
class Answer:
    """What a caller is told, and the run that this makes."""

    outcome: str
    code: str
    agent: int | None = None
    source: str | None = None
    why: str | None = None
    squad: int | None = None


@dataclass(frozen=True)
class Reply:
    """What a comment's author is told of one target, and the run that this makes."""

    target: tuple[str, int | None] | None
    outcome: str
    code: str
    agent: int | None = None
    squad: int | None = None
    leads: bool = False
    source: str | None = None


def effective_user(world: World, actor: Actor) -> int | None:
    """The human at the top of the chain."""
    if actor.kind == "user":
        return actor.id
    run = world.run(actor.run) if actor.kind == "agent" else None
    return run.originator if run else None


def may_invoke(world: World, agent: int | None, actor: Actor) -> bool:
    """The table of the invoke decision, top down."""
    found = world.agents.get(agent or 0)
    user = effective_user(world, actor)
    if found is None:
        return False
    if user is not None and found.owner == user:
        return True
    if found.permission != "public_to":
        return False
    everybody = actor.kind in ("agent", "system") or user in MEMBERS
    return (
        (("workspace", WORKSPACE) in found.grants and everybody)
        or (user is not None and ("member", user) in found.grants)
        or (("team", TEAM) in found.grants and user in world.team)
    )


def refusal(world: World, assignee: tuple[str, int] | None, actor: Actor) -> str | None:
    """Why an issue may not be given to this assignee; the gate speaks before any state."""
    if assignee is None or assignee[0] == "member":
        return None
    squad = world.squads.get(assignee[1]) if assignee[0] == "squad" else None
    agent = assignee[1] if assignee[0] == "agent" else squad.leader if squad else None
    if not may_invoke(world, agent, actor):
        return "invocation_not_allowed"
    if (squad and squad.archived) or (agent and world.agents[agent].archived):
        return "target_unavailable"
    return None


def target(world: World, assignee: tuple[str, int]) -> tuple[int | None, str | None]:
    """The agent that would run, and the word with which it cannot."""
    if assignee[0] == "agent":
        agent = world.agents.get(assignee[1])
        if agent is None:
            return assignee[1], "unbound"
        if agent.archived:
            return agent.id, "archived"
    else:
        squad = world.squads.get(assignee[1])
        agent = world.agents.get(squad.leader) if squad else None
        if squad is None or agent is None:
            return None, "squad_unavailable"
        if squad.archived or agent.archived:
            return agent.id, "squad_unavailable"
    if agent.runtime is None:
        return agent.id, "unbound"
    if agent.runtime == UNUSABLE:
        return agent.id, "runtime_unusable"
    if assignee[0] == "squad" and agent.runtime == OFFLINE:
        return agent.id, "leader_offline"
    return agent.id, None


def will_run(
    world: World,
    issue: Issue,
    before: Issue | None,
    assigned: bool,
    actor: Actor,
    *,
    asks_access: bool,
) -> Will:
    """The predicate, gate by gate."""
    if issue.assignee is None:
        return Will(why="no_assignee")
    if issue.assignee[0] == "member":
        return Will(why="member_assignee")
    if issue.status == "backlog":
        return Will(why="parked_in_backlog")
    acting = world.run(actor.run)
    if before is None or assigned:
        source = "assign"
    elif before.status == "backlog":
        source = "status"
        if issue.status in ("done", "cancelled"):
            return Will(why="closed")
        if acting is not None and acting.issue == issue.id:
            return Will(why="self_loop")
    else:
        return Will(why="not_a_start_signal")

    agent, why = target(world, issue.assignee)
    if asks_access and not may_invoke(world, agent, actor):
        return Will(why="not_invocable")
    if why is not None:
        return Will(why=why)
    standing = {run.status for run in world.runs if (run.agent, run.issue) == (agent, issue.id)}
    itself = actor.kind == "agent" and actor.id == agent and issue.assignee[0] == "agent"
    if source == "assign" and before is not None and itself:
        if standing & {*PENDING, *ACTIVE}:
            return Will(why="active_self_assignment")
    elif source == "status" and standing & {*PENDING}:
        return Will(why="already_pending")
    squad = issue.assignee[1] if issue.assignee[0] == "squad" else None
    return Will(agent=agent, squad=squad, source=source)


def stopped(world: World, agent: Agent, actor: Actor) -> str | None:
    """The first of the gates that depend on no other run: agent, attribution, pause."""
    if agent.archived:
        return "target_unavailable"
    if agent.runtime is None:
        return "agent_runtime_required"
    if agent.runtime == UNUSABLE:
        return "runtime_unusable"
    if agent.status != "active":
        return "agent_not_runnable"
    acting = world.run(actor.run)
    answers = effective_user(world, actor) or (acting.accountable if acting else None)
    if answers is None and (world.policy == "fail_closed" or agent.owner is None):
        return "attribution_blocked"
    return "paused" if world.paused else None


def admitted(world: World, issue: Issue, will: Will, actor: Actor) -> Answer:
    """What the gates of admission make of the wake, in their order."""
    assert will.agent is not None
    agent = world.agents[will.agent]
    reason = "task_assigned" if will.source == "assign" else "task_promoted"

    def answer(outcome: str, code: str) -> Answer:
        return Answer(outcome, code, will.agent, will.source, None, will.squad)

    code = stopped(world, agent, actor)
    if code is not None:
        return answer("blocked", code)

    pair = [run for run in world.runs if (run.agent, run.issue) == (agent.id, issue.id)]
    twin = next((run for run in pair if run.keyed and will.source == "assign"), None)
    if twin and twin.age < DAY:
        return answer("deduplicated", "duplicate_recent")
    holder = next((run for run in pair if run.status in PENDING), None)
    if holder:
        if (
            holder.status == "queued"
            and holder.age < COALESCE_WINDOW
            and holder.reason == reason
        ):
            return answer("coalesced", "coalesced")
        return answer("absorbed", "already_active")
    if will.source == "assign" and actor.kind == "agent" and issue.handed_on >= ALLOWANCE:
        return answer("rate_limited", "allowance_exhausted")
    if twin:
        return answer("deduplicated", "duplicate_key")
    return answer("queued", "queued")


def expected(
    world: World, write: Write, before: Issue | None, actor: Actor, *, is_preview: bool
) -> Answer:
    """The answer to a write, or to its preview; a refused assignee is blocked."""
    code = refusal(world, write.assignee, actor) if write.assigned else None
    if code is not None:
        return Answer("blocked", code)
    issue = before or Issue(None, "todo", None)
    issue = replace(issue, status=write.status or issue.status)
    if write.assigned:
        issue = replace(issue, assignee=write.assignee)
    will = will_run(
        world, issue, before, write.assigned, actor,
        asks_access=is_preview and not write.assigned,
    )  # fmt: skip
    if will.why is not None:
        return Answer("none", "not_triggered", why=will.why)
    return admitted(world, issue, will, actor)


#: The word with which a squad's leader cannot run, as the code of a refusal.
UNREADY = {
    "squad_unavailable": "target_unavailable",
    "unbound": "agent_runtime_required",
    "runtime_unusable": "runtime_unusable",
    "leader_offline": "runtime_offline",
}
NOBODY = -1


def named(comment: Comment) -> list[tuple[str, int]]:
    """The agents and squads that a comment mentions, each once."""
    return list(dict.fromkeys(m for m in comment.mentions if m[0] in ("agent", "squad")))


def owners(world: World, comment: Comment) -> list[tuple[str, int]]:
    """Whom the thread of a comment belongs to."""
    while comment.parent is not None:
        comment = world.comments[comment.parent]
    if named(comment):
        return named(comment)[:1]
    woken = [run.agent for run in world.runs if run.comment == comment.id]
    return [("agent", agent) for agent in dict.fromkeys(woken)]


def asked(
    world: World, issue: Issue, comment: Comment
) -> tuple[list[tuple[str, int]], str, bool]:
    """Whom a comment asks for work, the source, and whether that was said in so many words."""
    if comment.is_note:
        return [], "comment", True
    if named(comment):
        return named(comment), "mention", True
    if comment.mentions:
        return [], "mention", True
    assignee = [issue.assignee] if issue.assignee and issue.assignee[0] != "member" else []
    if comment.author[0] != "user":
        return [each for each in assignee if each[0] == "squad"], "comment", True
    if comment.parent is not None:
        parent = world.comments[comment.parent]
        if parent.author[0] == "agent" and parent.author[1] is not None:
            return [("agent", parent.author[1])], "comment", False
        found = owners(world, parent)
        if found or parent.author[0] == "user":
            return found, "comment", False
    return assignee, "comment", True


def self_trigger(
    world: World, issue: Issue, squad: Squad, source: str
) -> tuple[str, str] | None:
    """What keeps a squad's leader from waking itself; None when nothing does."""
    mine = [run for run in world.runs if (run.agent, run.issue) == (squad.leader, issue.id)]
    if source == "mention":
        if any(run.status in (*PENDING, *ACTIVE) for run in mine):
            return "absorbed", "already_active"
        return "blocked", "self_trigger_suppressed"
    # What agents have handed on lately was run by 31, a minute ago, for nobody's squad.
    if issue.handed_on and squad.leader == 31:
        mine.append(Run(10_000, 31, issue.id or 0, "completed", 60, "", False, None, None))
    if not mine:
        return None
    last = min(mine, key=lambda run: (run.age, -run.id))
    if not last.leads and last.squad == squad.id:
        return None
    return "blocked", "self_trigger_suppressed"


def judged(
    world: World,
    issue: Issue,
    comment: Comment,
    aim: tuple[str, int],
    actor: Actor,
    source: str,
) -> Reply | int:
    """A target that is settled before admission, or the agent that would run."""
    squad = world.squads.get(aim[1]) if aim[0] == "squad" else None
    agent = aim[1] if aim[0] == "agent" else squad.leader if squad else None
    if squad and comment.author == ("agent", squad.leader):
        guarded = self_trigger(world, issue, squad, source)
        if guarded:
            return Reply(aim, *guarded, agent=squad.leader)
    if not may_invoke(world, agent, actor) or agent is None:
        return Reply(aim, "blocked", "invocation_not_allowed")
    if squad:
        code = UNREADY.get(target(world, aim)[1] or "")
        if code:
            return Reply(aim, "blocked", code, agent)
    return agent


def commented(world: World, comment: Comment, actor: Actor) -> list[Reply]:
    """The answers to a comment, target by target."""
    issue = world.issues[comment.issue]
    aims, source, is_said = asked(world, issue, comment)
    settled: list[tuple[tuple[str, int], Reply | int]] = []
    for aim in aims:
        if aim[1] == NOBODY and is_said:
            settled.append((aim, Reply((aim[0], None), "blocked", "target_unavailable")))
            continue
        found = judged(world, issue, comment, aim, actor, source)
        if not is_said:
            if isinstance(found, Reply):
                continue
            agent = world.agents[found]
            if agent.archived or agent.runtime is None:
                continue
        settled.append((aim, found))
    acting = world.run(actor.run)
    replies = []
    for aim, found in settled:
        if isinstance(found, Reply):
            replies.append(found)
            continue
        led = [each[1] for each, other in settled if other == found and each[0] == "squad"]
        carried = acting.squad if acting and acting.leads and source == "mention" else None
        outcome, code = heard(world, issue, world.agents[found], actor)
        replies.append(
            Reply(aim, outcome, code, found, led[0] if led else carried, bool(led), source)
        )
    return replies or [Reply(None, "none", "not_triggered")]


def heard(world: World, issue: Issue, agent: Agent, actor: Actor) -> tuple[str, str]:
    """What admission makes of a comment's wake: any queued run of the pair takes it."""
    code = stopped(world, agent, actor)
    if code is not None:
        return "blocked", code
    for run in world.runs:
        if (run.agent, run.issue) == (agent.id, issue.id) and run.status in PENDING:
            if run.status == "queued":
                return "coalesced", "coalesced"
            return "absorbed", "already_active"
    return "queued", "queued"
