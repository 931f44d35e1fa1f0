"""The private server: what it starts as, what it survives, and that nothing of it stays."""

from __future__ import annotations

import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgdispatch import embedded
from pgdispatch.embedded import EmbeddedServer, EmbeddedServerError, wheel_bindir

SECONDS = 60

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changing the account needs root")


@pytest.fixture(autouse=True)
def _has_wheel() -> None:
    try:
        wheel_bindir()
    except EmbeddedServerError as error:
        pytest.skip(str(error))


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that any account may pass through, which pytest's own is not."""
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="pgdispatch-test-")))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def ask(server: EmbeddedServer, query: str) -> object:
    with psycopg.connect(server.dsn()) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row is not None else None


def wait_for_end(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], SECONDS)[0], f"process {pid} still runs"
    finally:
        os.close(handle)


def test_it_serves_and_leaves_nothing() -> None:
    with EmbeddedServer(durable=False) as server:
        pid, folder = server.pid, server.data_dir.parent
        assert ask(server, "show server_version_num") >= "180000"  # type: ignore[operator]
        assert folder.stat().st_mode & 0o077 == 0
    wait_for_end(pid)
    assert not folder.exists()
    assert not server.is_running


@needs_root
def test_as_root_it_runs_as_an_existing_unprivileged_account() -> None:
    accounts = Path("/etc/passwd").read_bytes()
    with EmbeddedServer(durable=False) as server:
        owner = Path(f"/proc/{server.pid}").stat().st_uid
        assert pwd.getpwuid(owner).pw_name in embedded.UNPRIVILEGED_USERS
    assert Path("/etc/passwd").read_bytes() == accounts


@needs_root
def test_the_account_can_be_chosen() -> None:
    with EmbeddedServer(durable=False, user="nobody") as server:
        assert Path(f"/proc/{server.pid}").stat().st_uid == pwd.getpwnam("nobody").pw_uid
        assert ask(server, "select 1") == 1


@needs_root
def test_binaries_that_the_account_cannot_reach_are_copied(place: Path) -> None:
    package = wheel_bindir().parent.parent
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    for folder in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(folder, closed / folder.name, symlinks=True)
    bindir = closed / package.name / "pginstall" / "bin"
    with EmbeddedServer(bindir=bindir, durable=False) as server:
        assert server.bindir != bindir
        assert ask(server, "select 1") == 1
    assert closed.stat().st_mode & 0o777 == 0o700


def test_it_is_durable_unless_told_otherwise(place: Path) -> None:
    with EmbeddedServer(place / "data") as server:
        assert ask(server, "show fsync") == "on"
        assert ask(server, "show full_page_writes") == "on"
    with EmbeddedServer(durable=False) as server:
        assert ask(server, "show fsync") == "off"


def test_a_named_data_folder_is_kept(place: Path) -> None:
    data = place / "data"
    with EmbeddedServer(data) as server, psycopg.connect(server.dsn()) as connection:
        connection.execute("create table kept as select 42 as answer")
    with (
        EmbeddedServer(data, tcp=True) as server,
        psycopg.connect(server.dsn(tcp=True)) as connection,
    ):
        assert connection.execute("select k.answer from kept as k").fetchone() == (42,)


@pytest.mark.parametrize("whose", ["nobody's", "another program's"])
def test_a_stale_pid_file_is_survived(place: Path, whose: str) -> None:
    data = place / "data"
    with EmbeddedServer(data, durable=False) as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute("create table kept as select 42 as answer")
        pid_file = data / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
        owner = pid_file.stat()
        os.kill(server.pid, signal.SIGKILL)
        server.stop()
    # What a killed server leaves, its number given to a living process or to none.
    sleeper = subprocess.Popen(
        ["sleep", "600"], user=owner.st_uid if os.geteuid() == 0 else None
    )
    try:
        if whose == "nobody's":
            sleeper.kill()
            sleeper.wait()
        pid_file.write_text("\n".join([str(sleeper.pid), *lines[1:]]) + "\n")
        os.chown(pid_file, owner.st_uid, owner.st_gid)
        with EmbeddedServer(data, durable=False) as server:
            assert ask(server, "select k.answer from kept as k") == 42
        assert whose == "nobody's" or sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_folder_in_use_is_refused_by_the_number_of_its_server(place: Path) -> None:
    with EmbeddedServer(place / "data", durable=False) as first:
        second = EmbeddedServer(place / "data", durable=False)
        with pytest.raises(EmbeddedServerError, match=f"already runs .*{first.pid}"):
            second.start()
        assert ask(first, "select 1") == 1


@needs_root
def test_a_folder_of_somebody_else_is_refused_and_left_alone(place: Path) -> None:
    mine = place / "data"
    mine.mkdir(mode=0o750)
    with pytest.raises(EmbeddedServerError, match="belongs to another account"):
        EmbeddedServer(mine).start()
    assert (mine.stat().st_uid, mine.stat().st_mode & 0o777) == (0, 0o750)
    assert not any(mine.iterdir())


def test_a_folder_of_other_things_is_refused(place: Path) -> None:
    (place / "letter").write_text("dear")
    with pytest.raises(EmbeddedServerError, match="neither empty nor a data folder"):
        EmbeddedServer(place).start()
    assert (place / "letter").read_text() == "dear"


def test_the_loopback_port_asks_for_the_password() -> None:
    with EmbeddedServer(durable=False, tcp=True) as server:
        with psycopg.connect(server.dsn(tcp=True)) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.dsn(tcp=True, password="guess", passfile="/dev/null"))


def test_without_a_port_nothing_listens_on_the_network() -> None:
    with EmbeddedServer(durable=False) as server:
        assert ask(server, "show listen_addresses") == ""
        with pytest.raises(EmbeddedServerError, match="tcp=True"):
            server.dsn(tcp=True)


def test_a_failed_start_says_why_and_leaves_nothing() -> None:
    server = EmbeddedServer(durable=False, settings={"no_such_setting": "1"})
    with pytest.raises(EmbeddedServerError, match="no_such_setting"):
        server.start()
    assert not server.is_running
    with pytest.raises(EmbeddedServerError, match="not started"):
        server.dsn()


def test_starting_and_stopping_twice_changes_nothing() -> None:
    server = EmbeddedServer(durable=False)
    pid = server.start().pid
    assert server.start().pid == pid
    server.stop()
    server.stop()
    assert not server.is_running


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbeddedServerError, match="pip install 'pgdispatch"):
        EmbeddedServer()


def test_a_kill_while_the_data_folder_is_made_leaves_nothing() -> None:
    """The program dies between its folder and its server, as by an impatient runner."""
    program = textwrap.dedent(
        """
        import sys
        from pgdispatch.embedded import EmbeddedServer
        server = EmbeddedServer(durable=False)
        make = server._make_cluster
        def interrupted():
            make()
            print(server.data_dir.parent, server._reaper.pid, flush=True)
            sys.stdin.read()
        server._make_cluster = interrupted
        server.start()
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        folder, reaper = child.stdout.readline().split()
        child.kill()
        child.wait(timeout=SECONDS)
        wait_for_end(int(reaper))
        assert not Path(folder).exists()


def test_a_refused_second_server_does_not_stop_the_first(place: Path) -> None:
    """Not even when its process is killed: it has no server of its own to clear up."""
    with EmbeddedServer(place / "data", durable=False) as first:
        program = textwrap.dedent(
            """
            import os, signal, sys
            from pgdispatch.embedded import EmbeddedServer
            server = EmbeddedServer(sys.argv[1], durable=False)
            def refused():
                print(server._reaper.pid, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            server._make_cluster = refused
            server.start()
            """
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(place / "data")],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == -signal.SIGKILL
        wait_for_end(int(done.stdout))
        assert ask(first, "select 1") == 1


def test_a_killed_server_is_cleared_up() -> None:
    """Its children outlive it for a moment, and would write into a folder being removed."""
    server = EmbeddedServer(durable=False).start()
    folder = server.data_dir.parent
    os.kill(server.pid, signal.SIGKILL)
    server.stop()
    assert not folder.exists()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
def test_it_ends_with_its_process(end: signal.Signals | None) -> None:
    """A kill, a termination and a plain exit: the server stops and its folder goes."""
    program = textwrap.dedent(
        """
        import sys
        from pgdispatch.embedded import EmbeddedServer
        server = EmbeddedServer(durable=False).start()
        print(server.pid, server.data_dir.parent, server._reaper.pid, flush=True)
        sys.stdin.read()
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None
    pid, folder, reaper = child.stdout.readline().split()
    if end is None:
        child.stdin.close()
    else:
        child.send_signal(end)
    child.wait(timeout=SECONDS)
    wait_for_end(int(pid))
    wait_for_end(int(reaper))
    assert not Path(folder).exists()
    child.stdout.close()
    if not child.stdin.closed:
        child.stdin.close()
