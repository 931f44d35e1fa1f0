"""Collect pgTAP scripts: one pytest item a file and server, its failing assertions shown."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.servers import Servers, ServerUnavailable

SCRIPT_SECONDS = 120

_RESULT = re.compile(r"^(?P<no>not )?ok\b\s*\d*\s*(?:-\s*)?(?P<text>[^#]*)(?P<rest>#.*)?$")
_PLAN = re.compile(r"^1\.\.(?P<count>\d+)\s*(?:#\s*skip\S*\s*(?P<reason>.*))?$", re.IGNORECASE)


@dataclass(slots=True)
class Tap:
    """What a script's output says: the plan, how many assertions ran, and which failed."""

    planned: int | None = None
    ran: int = 0
    skip_reason: str | None = None
    failures: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, output: str) -> Tap:
        """Read the Test Anything Protocol; a diagnostic belongs to the failure before it."""
        tap = cls()
        is_failing = False
        for line in output.splitlines():
            if plan := _PLAN.match(line):
                tap.planned = int(plan["count"])
                tap.skip_reason = plan["reason"]
            elif line.startswith("Bail out!"):
                tap.failures.append(line)
            elif result := _RESULT.match(line):
                tap.ran += 1
                is_todo = "todo" in (result["rest"] or "").lower()
                is_failing = bool(result["no"]) and not is_todo
                if is_failing:
                    tap.failures.append(line)
            elif line.startswith("#") and is_failing:
                tap.failures.append(line)
        return tap

    def problems(self) -> list[str]:
        """Say why the script counts as failed; empty when it passed."""
        found = list(self.failures)
        if self.planned is None:
            found.append("the script printed no plan")
        elif self.planned != self.ran:
            found.append(f"the script planned {self.planned} assertions and ran {self.ran}")
        elif self.ran == 0:
            found.append("the script ran no assertion")
        return found


class PgTapFailure(Exception):
    """A pgTAP script failed; the message lists its failing assertions."""


class PgTapFile(pytest.File):
    """One script under pgtap/."""

    def collect(self) -> Iterator[pytest.Item]:
        """Give an item for each server of this run."""
        servers = self.config.stash[SERVERS]
        for name in servers.names:
            yield PgTapItem.from_parent(self, name=name, servers=servers)


class PgTapItem(pytest.Item):
    """One script on one server."""

    def __init__(self, *, servers: Servers, **rest: Any) -> None:
        super().__init__(**rest)
        self.servers = servers

    def runtest(self) -> None:
        """Run the script by psql, as pg_prove does, and judge its output."""
        try:
            server = self.servers.get(self.name)
            psql = server.psql()
        except ServerUnavailable as reason:
            pytest.skip(str(reason))
        with server.database() as database:
            if not server.has_pgtap:
                pytest.skip(f"pgTAP is not installed on {self.name}")
            done = subprocess.run(
                [
                    psql,
                    "--no-psqlrc",
                    "--no-align",
                    "--quiet",
                    "--tuples-only",
                    "--pset=pager=off",
                    "--set=ON_ERROR_STOP=1",
                    f"--dbname={database.dsn}",
                    f"--file={self.path}",
                ],
                check=False,
                capture_output=True,
                text=True,
                timeout=SCRIPT_SECONDS,
            )
        tap = Tap.parse(done.stdout)
        if tap.planned == 0 and tap.skip_reason is not None and done.returncode == 0:
            pytest.skip(tap.skip_reason)
        problems = tap.problems()
        if done.returncode != 0:
            problems.insert(0, f"psql ended with {done.returncode}: {done.stderr.strip()}")
        if problems:
            raise PgTapFailure("\n".join(problems))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:
        """Show a failed script by its own words, without a traceback of this file."""
        if isinstance(excinfo.value, PgTapFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Name the item by file and server."""
        return self.path, None, f"{self.path.name} [{self.name}]"


SERVERS: pytest.StashKey[Servers] = pytest.StashKey()
