from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgdispatch import AsyncDispatch, Dispatch, _connections


def test_pauses_grow_are_jittered_and_end() -> None:
    drawn = [list(_connections.pauses()) for _ in range(50)]
    assert {len(pauses) for pauses in drawn} == {5}
    for pauses in drawn:
        assert pauses == sorted(pauses)
        assert 0.01 <= pauses[0] <= 0.02
        assert sum(pauses) < 1
    assert len({pauses[0] for pauses in drawn}) > 1


def test_a_probe_does_not_wait_for_ever() -> None:
    assert conninfo_to_dict(_connections.probe(""))["connect_timeout"] == "10"
    given = "host=/tmp dbname=d connect_timeout=3"
    assert conninfo_to_dict(_connections.probe(given)) == conninfo_to_dict(given)
    uri = conninfo_to_dict(_connections.probe("postgresql://u:p%40%20s@h:5/d"))
    assert (uri["password"], uri["connect_timeout"]) == ("p@ s", "10")


@pytest.mark.parametrize("cls", [Dispatch, AsyncDispatch])
def test_what_is_no_target_is_refused(cls: type[Dispatch | AsyncDispatch]) -> None:
    for bad in (None, 5, object(), b"dbname=x"):
        with pytest.raises(TypeError, match=cls.__name__):
            cls(bad)  # type: ignore[arg-type]
    with pytest.raises(psycopg.ProgrammingError):
        cls("no dsn at all")


def test_the_clients_refuse_each_other_s_connections() -> None:
    sync, waiting = object.__new__(psycopg.Connection), object.__new__(psycopg.AsyncConnection)
    for cls, conn in ((Dispatch, waiting), (AsyncDispatch, sync)):
        with pytest.raises(TypeError, match=type(conn).__name__):
            cls(conn)  # type: ignore[arg-type]


def test_an_unreachable_server_is_named_at_the_first_call() -> None:
    with Dispatch("host=/nowhere/at/all dbname=x") as dispatch:
        with pytest.raises(psycopg.OperationalError, match="/nowhere/at/all"):
            dispatch.clock()
        with pytest.raises(psycopg.OperationalError, match="/nowhere/at/all"):
            dispatch.clock()


async def test_an_unreachable_server_is_named_at_the_first_awaited_call() -> None:
    async with AsyncDispatch("host=/nowhere/at/all dbname=x") as dispatch:
        with pytest.raises(psycopg.OperationalError, match="/nowhere/at/all"):
            await dispatch.clock()


async def test_a_closed_client_says_so() -> None:
    dispatch = Dispatch("dbname=x")
    dispatch.close()
    dispatch.close()
    with pytest.raises(psycopg.InterfaceError, match="closed"):
        dispatch.clock()
    waiting = AsyncDispatch("dbname=x")
    await waiting.close()
    with pytest.raises(psycopg.InterfaceError, match="closed"):
        await waiting.clock()
