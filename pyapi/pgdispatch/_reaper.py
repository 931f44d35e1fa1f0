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
from pathlib import Path

SHUTDOWN_SECONDS = 20.0


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


def stop(pid: int, data_dir: Path) -> None:
    """Ask for a fast shutdown, then for an immediate one, and wait for the end."""
    for sign in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        if not serves(pid, data_dir):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
        deadline = time.monotonic() + SHUTDOWN_SECONDS
        while serves(pid, data_dir) and time.monotonic() < deadline:
            time.sleep(0.05)


def main(arguments: list[str]) -> None:
    """Wait for the end of the pipe, stop the server, remove the folders that were made."""
    pid, data_dir, *litter = arguments
    word = sys.stdin.buffer.read()
    if word == b"done":
        return
    stop(int(pid), Path(data_dir))
    for folder in litter:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    main(sys.argv[1:])
