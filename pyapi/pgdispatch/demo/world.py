"""The workspace of the demonstration: its people, agents and runtimes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle

from pgdispatch.client import Dispatch


@dataclass(frozen=True, slots=True)
class Person:
    """A human of the workspace."""

    name: str
    role: str
    id: uuid.UUID = field(default_factory=uuid.uuid4)


@dataclass(frozen=True, slots=True)
class Runtime:
    """A place where an agent executes, hosted by a daemon."""

    name: str
    daemon: str
    id: uuid.UUID = field(default_factory=uuid.uuid4)


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, who owns it, and who gives it work."""

    name: str
    owner: Person
    runtime: Runtime
    capacity: int
    askers: tuple[Person, ...]
    id: uuid.UUID = field(default_factory=uuid.uuid4)


@dataclass(frozen=True, slots=True)
class World:
    """Everything that is there before the first issue."""

    workspace: uuid.UUID
    ana: Person
    ben: Person
    people: tuple[Person, ...]
    agents: tuple[Agent, ...]
    unbound: uuid.UUID

    @property
    def alpha(self) -> Agent:
        """The agent that is Ana's alone."""
        return self.agents[0]

    @property
    def runtimes(self) -> dict[str, list[Runtime]]:
        """The runtimes of each daemon."""
        hosted: dict[str, list[Runtime]] = {}
        for agent in self.agents:
            hosted.setdefault(agent.runtime.daemon, []).append(agent.runtime)
        return hosted

    def shares(self) -> Iterator[tuple[Agent, Person]]:
        """Deal work out for ever, by capacity; each agent's people ask in turn."""
        turns = {agent.id: cycle(agent.askers) for agent in self.agents}
        places = [agent for agent in self.agents for _ in range(agent.capacity)]
        for agent in cycle(places):
            yield agent, next(turns[agent.id])


def make_world(dispatch: Dispatch) -> World:
    """Write the directory: three people, three agents on two daemons, one agent on none."""
    ana, ben, cleo = Person("Ana", "owner"), Person("Ben", "member"), Person("Cleo", "member")
    people = (ana, ben, cleo)
    agents = (
        Agent("alpha", ana, Runtime("laptop-1", "laptop"), 1, (ana,)),
        Agent("beta", ana, Runtime("laptop-2", "laptop"), 2, (ana, ben)),
        Agent("gamma", ben, Runtime("desk-1", "desk"), 4, people),
    )
    world = World(uuid.uuid4(), ana, ben, people, agents, unbound=uuid.uuid4())
    workspace = world.workspace
    with dispatch.transaction() as both:
        both.put_workspace(workspace, "Demonstration", "DEMO")
        for person in people:
            both.put_member(workspace, person.id, person.name, person.role)
        for agent in agents:
            runtime = agent.runtime
            both.put_runtime(workspace, runtime.id, runtime.daemon, runtime.name)
            is_shared = len(agent.askers) > 1
            both.put_agent(
                workspace,
                agent.id,
                agent.name,
                agent.owner.id,
                runtime.id,
                permission="public_to" if is_shared else "private",
                max_concurrent_runs=agent.capacity,
            )
            if agent.askers == people:
                both.grant_invoke(workspace, agent.id, "workspace")
            elif is_shared:
                for person in agent.askers:
                    both.grant_invoke(workspace, agent.id, "member", person.id)
        both.put_agent(workspace, world.unbound, "delta", ben.id)
    return world
