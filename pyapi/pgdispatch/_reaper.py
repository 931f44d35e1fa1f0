"""Stop a private server when the process that started it is gone.

Run as a script by path, outside the package: it needs the standard library alone and starts
quickly. Standard input is a pipe whose other end only the starting process holds, so its end
of file comes however that process dies, a kill included.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

SHUTDOWN_SECONDS = 20.0
ORPHAN_SECONDS = 15.0
POLL_SECONDS = 0.05


def serves(pid: int, data_dir: Path) -> bool:
    """Tell whether process `pid` works in `data_dir`, as each process of its server does."""
    if not Path("/proc/self").exists():
        with contextlib.suppress(OSError):
            os.kill(pid, 0)
            return True
        return False
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == data_dir
    except OSError:
        return False


def occupants(data_dir: Path) -> list[int]:
    """Number the processes that work in `data_dir`: a server and its children."""
    with contextlib.suppress(OSError):
        numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [pid for pid in numbers if serves(pid, data_dir)]
    return []


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Look again and again whether something holds, for a while."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def postmaster(data_dir: Path) -> int | None:
    """Read from its pid file which process serves `data_dir`, if one does."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        pid = int((data_dir / "postmaster.pid").read_text().splitlines()[0])
        if serves(pid, data_dir):
            return pid
    return None


def stop(pid: int, data_dir: Path) -> None:
    """End the server `pid` of `data_dir`: ask for a fast shutdown first, insist afterwards."""
    for sign in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        if postmaster(data_dir) != pid:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
        wait_until(lambda: not serves(pid, data_dir), SHUTDOWN_SECONDS)


def remove(home: Path, data_dir: Path) -> None:
    """Remove a server's folder, and the data if it stands inside.

    Whoever still works in the data could make its files anew: the children of a server that
    was killed, which notice that by themselves, and those of an unfinished initdb.
    """
    if data_dir.is_relative_to(home) and not wait_until(
        lambda: not occupants(data_dir), ORPHAN_SECONDS
    ):
        for pid in occupants(data_dir):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def is_gone() -> bool:
        shutil.rmtree(home, ignore_errors=True)
        return not home.exists()

    wait_until(is_gone, ORPHAN_SECONDS)


def main(data_dir: Path, home: Path) -> None:
    """Read the server's number, wait for the end of the pipe, and clear up after a death."""
    number, _, last = sys.stdin.buffer.read().partition(b"\n")
    if last == b"done":
        return
    if number.isdigit():
        stop(int(number), data_dir)
    remove(home, data_dir)


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
