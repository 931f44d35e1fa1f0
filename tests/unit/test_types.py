from __future__ import annotations

import copy
import dataclasses
import pickle
import uuid

import pytest

from pgdispatch import Actor, Decision, Outcome, ReasonCode, RunStatus, Transition
from pgdispatch.types import Label

SETS = [Outcome, RunStatus, ReasonCode]


@pytest.mark.parametrize("words", SETS)
def test_members_are_their_words(words: type[Label]) -> None:
    for member in words:
        assert words.read(member.value) is member
        assert member == member.value
        assert str(member) == member.value
        assert member.name == member.value.upper()
        assert member.known


@pytest.mark.parametrize("words", SETS)
def test_a_label_of_a_later_release_is_no_crash(words: type[Label]) -> None:
    before = list(words)
    label = words.read("brand_new")
    assert isinstance(label, words)
    assert label == "brand_new"
    assert str(label) == f"{label}" == "brand_new"
    assert (label.name, label.value) == ("BRAND_NEW", "brand_new")
    assert {label: 1}["brand_new"] == 1  # type: ignore[index]
    assert not label.known
    assert list(words) == before
    for twin in (pickle.loads(pickle.dumps(label)), copy.deepcopy(label)):
        assert type(twin) is words
        assert twin == label
    with pytest.raises(ValueError, match="brand_new"):
        words("brand_new")


@pytest.mark.parametrize("words", SETS)
def test_known_members_survive_pickling(words: type[Label]) -> None:
    for member in words:
        assert pickle.loads(pickle.dumps(member)) is member
        assert copy.deepcopy(member) is member


def test_rows_are_frozen_and_have_slots() -> None:
    row = Transition(True, uuid.uuid4(), RunStatus.RUNNING, 1, None, None, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.applied = False  # type: ignore[misc]
    assert not hasattr(row, "__dict__")
    assert dataclasses.replace(row, claim_no=2).claim_no == 2


def test_rows_turn_into_dictionaries() -> None:
    row = Decision(Outcome.read("later"), ReasonCode.QUEUED, None, None, "wake", {"a": [1]})
    assert dataclasses.asdict(row) == {
        "outcome": "later",
        "reason_code": "queued",
        "run_id": None,
        "agent_id": None,
        "source": "wake",
        "detail": {"a": [1]},
    }


def test_actors_unpack_in_the_order_of_the_arguments() -> None:
    person, agent, run = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    assert (*Actor.user(person),) == ("user", person, None)
    assert (*Actor.user(),) == ("user", None, None)
    assert (*Actor.agent(agent, run),) == ("agent", agent, run)
    assert (*Actor.system(),) == ("system", None, None)
    assert Actor._fields == ("actor_type", "actor_id", "acting_run_id")
