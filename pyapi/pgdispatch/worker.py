"""The loop of a daemon: claim, have the work done, report, and keep alive what is in hand.

What is decided is decided in the database. The worker keeps its runtimes alive, hears of new
work and looks for it slowly besides, and hands runs to a bounded number of threads. No
transaction is open while they work.
"""

from __future__ import annotations

import datetime as dt
import logging
import queue
import random
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
from psycopg import sql
from psycopg_pool import ConnectionPool

from pgdispatch import _arguments, _calls, _connections
from pgdispatch._calls import Call
from pgdispatch._links import Link, Pool, together
from pgdispatch.errors import DispatchError
from pgdispatch.types import ClaimedRun, Id, Json, Transition

logger = logging.getLogger("pgdispatch.worker")

#: At most so many jobs in hand: what one claim can hand out.
MOST_JOBS = 256

CALL_SECONDS = 60.0
PROBE_SECONDS = 5.0
GUARD_SECONDS = 0.25
LONGEST_PAUSE = 5.0
FIRST_PAUSE = 0.1

# The database or the way to it is at fault: the same may work later.
_PASSING = (psycopg.OperationalError, psycopg.InterfaceError)


class HandBack(Exception):
    """Raised by a handler: the run goes back and runs later, at once if no time is given.

    It uses up no attempt.
    """

    def __init__(self, until: dt.datetime | None = None) -> None:
        super().__init__("handed back")
        self.until = until


class JobFailed(Exception):
    """Raised by a handler: the run failed for a reason that the handler names.

    Any other exception fails the run as `agent_error`, with its traceback as the error.
    """

    def __init__(
        self,
        error: str | None = None,
        failure_reason: str = "agent_error",
        *,
        session_id: str | None = None,
        work_dir: str | None = None,
        session_lost: bool = False,
    ) -> None:
        super().__init__(error or failure_reason)
        self.report = {
            "failure_reason": failure_reason,
            "error": error,
            "session_id": session_id,
            "work_dir": work_dir,
            "session_lost": session_lost,
        }


@dataclass(frozen=True, slots=True)
class Done:
    """Returned by a handler that has more to report than a result."""

    result: Json | None = None
    session_id: str | None = None
    work_dir: str | None = None
    session_lost: bool = False


Handler: TypeAlias = Callable[[ClaimedRun], Json]
"""Does the work of a run, in a thread, and returns its result or a `Done`.

A handler that also has a method `stop(run_id)` is told, from another thread, that a job shall
end: its run was cancelled or lost, or the worker is stopped for the second time.
"""

# What the loop is told: a kind, the run, and what came of it.
_STARTED, _COMPLETED, _FAILED, _DEFERRED = "start", "complete", "fail", "defer"
_Report: TypeAlias = tuple[str, ClaimedRun, dict[str, Any]]
_STOP = object()
_LOOK = object()


class _InHand:
    """A claimed run, and when its lease is to be extended next."""

    __slots__ = ("due", "run")

    def __init__(self, run: ClaimedRun, due: float) -> None:
        self.run = run
        self.due = due


def _key(run: ClaimedRun) -> tuple[uuid.UUID, int]:
    """Tell claims of one run apart."""
    return run.run_id, run.claim_no


class Worker:
    """Claims the runs of a daemon's runtimes and has a handler do them.

    `source` is a DSN or a pool; the calls are short transactions of their own and need no
    session, so a transaction pooler may stand between. Only the listener needs a session: it
    connects to `listen_dsn`, by default where `source` leads, and `listen=False` does without.
    `workspace_id` may be a mapping of workspaces to their runtime ids; then `runtime_ids` is
    left out. `poll_interval` is how often the worker looks for work that it was not told of,
    `concurrency` how many jobs it has in hand at most, `lease` how long a run counts as alive
    without a sign of the worker. With `prepare` runs are claimed, prepared by that call in the
    job's thread, and only then started. With `recover`, runs that an earlier process of the
    same daemon left behind fail and are retried when the worker begins; it then has to be the
    only worker of its runtimes.
    """

    def __init__(
        self,
        source: str | Pool,
        workspace_id: Id | Mapping[Any, Iterable[Id]],
        runtime_ids: Iterable[Id] | None = None,
        handler: Handler | None = None,
        *,
        listen_dsn: str | None = None,
        poll_interval: dt.timedelta | float = dt.timedelta(seconds=5),
        concurrency: int = 4,
        lease: dt.timedelta = dt.timedelta(seconds=60),
        heartbeat_interval: dt.timedelta | float = dt.timedelta(seconds=15),
        probe_interval: dt.timedelta | float = dt.timedelta(seconds=10),
        stop_grace: dt.timedelta | float = dt.timedelta(seconds=10),
        listen: bool = True,
        prepare: Callable[[ClaimedRun], object] | None = None,
        recover: bool = False,
    ) -> None:
        if handler is None:
            raise TypeError("a worker needs a handler")
        if not 1 <= concurrency <= MOST_JOBS:
            raise ValueError(f"concurrency is between 1 and {MOST_JOBS}")
        self._runtimes = _served(workspace_id, runtime_ids)
        self._names = {str(each) for ids in self._runtimes.values() for each in ids}
        self._handler = handler
        self._prepare = prepare
        self._concurrency = concurrency
        self._poll = _seconds(poll_interval)
        self._lease = lease
        self._beat = _seconds(heartbeat_interval)
        self._probe = _seconds(probe_interval)
        self._grace = _seconds(stop_grace)
        self._recovers = recover
        self._loop_link, self._keep_link = Link(source), Link(source)
        self._listen_link: Link | None = None
        if listen:
            self._listen_link = Link(
                _listen_source(source) if listen_dsn is None else listen_dsn
            )
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._jobs: queue.SimpleQueue[tuple[ClaimedRun, bool] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._in_hand: dict[tuple[uuid.UUID, int], _InHand] = {}
        #: Workspaces that may have more than the last claim had room for.
        self._wanting: set[uuid.UUID] = set()
        self._reports: dict[uuid.UUID, list[_Report]] = {each: [] for each in self._runtimes}
        self._over, self._is_closed = threading.Event(), threading.Event()
        #: Workspaces that failed: left alone until when, and how often in a row.
        self._rests: dict[uuid.UUID, tuple[float, int]] = {}
        self._stops = 0
        self._looks = True
        self._has_begun = False
        self._failures = 0

    def stop(self) -> None:
        """Ask for the end, from any thread or a signal handler.

        The first time the worker claims nothing more and ends once its jobs have. The second
        time the jobs are stopped and their runs handed back.
        """
        self._inbox.put(_STOP)

    def run(self) -> None:
        """Work until stopped, in this thread.

        Errors that may pass, such as a server that is away, are logged and waited out; any
        other error hands the jobs back and is raised.
        """
        guard = _thread(self._guard)
        helpers = [_thread(self._keep)]
        if self._listen_link is not None:
            helpers.append(_thread(self._listen))
        try:
            self._loop()
        except BaseException:
            self._stops = 2
            raise
        finally:
            try:
                if self._stops > 1:
                    self._halt()
                self._hush(helpers)
                self._leave()
            finally:
                self._hush(helpers)
                self._end(guard)

    # The loop

    def _loop(self) -> None:
        """Take what comes, report it, and claim what is next, until there is nothing to do."""
        next_poll = 0.0
        not_before = 0.0
        while not self._is_done():
            now = time.monotonic()
            wait = (not_before if not_before > now else next_poll) - now
            if self._rests:
                wait = min(wait, FIRST_PAUSE)
            self._take(max(0.0, wait))
            now = time.monotonic()
            if self._is_done() or now < not_before:
                continue
            if now >= next_poll:
                self._looks = True
            is_looking = self._looks
            try:
                self._turn()
            except _PASSING as error:
                not_before = now + self._pause(error)
                continue
            self._failures = 0
            if is_looking:
                next_poll = time.monotonic() + self._poll * random.uniform(0.9, 1.1)  # noqa: S311

    def _is_done(self) -> bool:
        return self._stops > 1 or (self._stops > 0 and not self._in_hand)

    def _take(self, seconds: float) -> None:
        """Wait until there is something to do, and take all that has come.

        While a failure is waited out, what there is to do does not cut the wait short.
        """
        if not self._failures and self._has_work():
            seconds = 0.0
        try:
            item = self._inbox.get(timeout=seconds) if seconds else self._inbox.get_nowait()
            while True:
                if item is _STOP:
                    self._stops += 1
                    logger.info("asked to stop, %d jobs in hand", len(self._in_hand))
                elif item is _LOOK:
                    self._looks = True
                else:
                    self._reports[item[1].workspace_id].append(item)
                item = self._inbox.get_nowait()
        except queue.Empty:
            return

    def _has_work(self) -> bool:
        has_room = not self._stops and len(self._in_hand) < self._concurrency
        return self._looks or any(
            reports or (has_room and workspace in self._wanting)
            for workspace, reports in self._reports.items()
            if not self._is_resting(workspace)
        )

    def _is_resting(self, workspace: uuid.UUID) -> bool:
        return time.monotonic() < self._rests.get(workspace, (0.0, 0))[0]

    def _turn(self) -> None:
        """Report and claim for each workspace, each in a transaction of its own.

        The error of one of several workspaces is logged, its reports are kept and it is left
        alone for a while; it is raised once all of them have failed.
        """
        if not self._has_begun:
            self._begin()
        looks, self._looks = self._looks, False
        trouble: Exception | None = None
        workspaces = list(self._runtimes)
        if len(workspaces) > 1:
            random.shuffle(workspaces)
        for workspace in workspaces:
            if looks:
                self._wanting.add(workspace)
            if self._is_resting(workspace):
                continue
            reports = list(self._reports[workspace])
            room = 0
            if not self._stops and (reports or workspace in self._wanting):
                self._wanting.add(workspace)
                leaving = sum(each[0] != _STARTED for each in reports)
                room = self._concurrency - len(self._in_hand) + leaving
            if not reports and room <= 0:
                continue
            try:
                self._serve(workspace, reports, room)
            except Exception as error:
                trouble = error
                if len(workspaces) > 1:
                    self._let_rest(workspace, error)
            else:
                self._rests.pop(workspace, None)
        has_rest = len(workspaces) > 1 and not all(map(self._is_resting, workspaces))
        if trouble is not None and not has_rest:
            raise trouble

    def _let_rest(self, workspace: uuid.UUID, error: Exception) -> None:
        failures = self._rests.get(workspace, (0.0, 0))[1] + 1
        self._rests[workspace] = (time.monotonic() + _backoff(failures), failures)
        logger.warning("workspace %s was not served: %s", workspace, _line(error))

    def _serve(self, workspace: uuid.UUID, reports: list[_Report], room: int) -> None:
        """Report what ended and claim the next in one transaction."""
        try:
            made = _report_calls(workspace, reports, self._lease)
            calls = [call for call, _ in made]
            if room > 0:
                calls.append(self._claim(workspace, room))
            answers = self._call(self._loop_link, calls)
        except _PASSING:
            raise
        except Exception as error:
            if not reports:
                raise
            # One report that is refused must not hold up the others for ever.
            logger.warning("reports are made one by one: %s", _line(error))
            for report in reports:
                self._report_alone(workspace, report)
                del self._reports[workspace][0]
            self._looks = True
            return
        del self._reports[workspace][: len(reports)]
        for (_, share), answer in zip(made, answers, strict=False):
            given = answer if isinstance(answer, list) else [answer]
            for report, transition in zip(share, given, strict=True):
                self._settled(report, transition)
        claimed: list[ClaimedRun] = answers[-1] if room > 0 else []
        if room > 0 and len(claimed) < room:
            self._wanting.discard(workspace)
        due = time.monotonic() + self._lease.total_seconds() / 3
        for run in claimed:
            self._in_hand[_key(run)] = _InHand(run, due)
            if self._prepare is not None:
                self._give(run, is_started=False)
            elif run.reclaimed:
                self._reports[workspace].append((_STARTED, run, {}))
            else:
                self._give(run, is_started=True)

    def _claim(self, workspace: uuid.UUID, room: int) -> Call[list[ClaimedRun]]:
        return _calls.claim_runs(
            workspace,
            self._runtimes[workspace],
            max=room,
            per_agent=room,
            start=self._prepare is None,
            lease=self._lease,
        )

    def _report_alone(self, workspace: uuid.UUID, report: _Report) -> None:
        """Make one report; if it is refused, fail the run instead, saying why."""
        try:
            for call, _ in _report_calls(workspace, [report], self._lease):
                (answer,) = self._call(self._loop_link, [call])
                self._settled(report, answer[0] if isinstance(answer, list) else answer)
        except _PASSING:
            raise
        except Exception as error:
            run = report[1]
            failed = _calls.fail_run(
                workspace, run.run_id, run.claim_no, None, f"report refused: {_line(error)}"
            )
            with suppress(psycopg.DataError, DispatchError):
                self._call(self._loop_link, [failed])
            logger.error("run %s: the report was refused: %s", run.run_id, _line(error))
            self._in_hand.pop(_key(run), None)

    def _settled(self, report: _Report, transition: Transition) -> None:
        """Go on with a run that was started, and let go of one that has ended."""
        kind, run, _ = report
        if kind == _STARTED and transition.applied:
            self._give(run, is_started=True)
            return
        self._in_hand.pop(_key(run), None)
        if not transition.applied:
            logger.info("run %s: %s not applied: %s", run.run_id, kind, transition.reason)

    def _begin(self) -> None:
        """Come alive, and end what an earlier process of this daemon left behind."""
        for workspace, runtimes in self._runtimes.items():
            calls: list[Call[Any]] = [_calls.heartbeat(workspace, runtimes)]
            if self._recovers:
                calls += [_calls.recover_runtime(workspace, each) for each in runtimes]
            known, *recovered = self._call(self._loop_link, calls)
            if known < len(set(runtimes)):
                logger.warning("workspace %s knows %d of the runtimes", workspace, known)
            for transition in [each for some in recovered for each in some]:
                logger.info("run %s: recovered", transition.run_id)
        self._has_begun = True

    def _leave(self) -> None:
        """Say that the runtimes are gone, as far as the server can be reached."""
        if not self._has_begun:
            return
        calls = [
            _calls.set_runtime_offline(workspace, each, "worker stopped")
            for workspace, runtimes in self._runtimes.items()
            for each in runtimes
        ]
        try:
            self._call(self._loop_link, calls)
        except (psycopg.Error, DispatchError) as error:
            logger.warning("the runtimes were not set offline: %s", _line(error))

    def _halt(self) -> None:
        """Stop the jobs, hand their runs back, and report those that ended by themselves."""
        self._tell_to_stop(each.run for each in self._in_hand.copy().values())
        with suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
        working = {thread for thread in self._threads if thread.is_alive()}
        for _ in working:
            self._jobs.put(None)
        deadline = time.monotonic() + self._grace
        for thread in working:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._take(0.0)
        told = {_key(each[1]) for some in self._reports.values() for each in some}
        for key, held in self._in_hand.items():
            if key not in told:
                self._reports[held.run.workspace_id].append((_DEFERRED, held.run, {}))
        for workspace, reports in self._reports.items():
            # What was to be started is handed back as well.
            final = [
                (_DEFERRED, each[1], {}) if each[0] == _STARTED else each for each in reports
            ]
            self._reports[workspace] = final
            if final:
                try:
                    self._serve(workspace, list(final), 0)
                except (psycopg.Error, DispatchError) as error:
                    logger.error("runs were not handed back: %s", _line(error))

    def _hush(self, helpers: Iterable[threading.Thread]) -> None:
        """End what is done beside the loop, so that no heartbeat comes after the farewell.

        A heartbeat that was sent is waited for: the server may carry it out although the
        connection is cut off.
        """
        self._over.set()
        if self._listen_link is not None:
            self._listen_link.cut()
        for helper in helpers:
            helper.join(LONGEST_PAUSE)
        self._keep_link.cut()
        for helper in helpers:
            helper.join(LONGEST_PAUSE)

    def _end(self, guard: threading.Thread) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        self._is_closed.set()
        guard.join()
        for link in (self._loop_link, self._keep_link, self._listen_link):
            if link is not None:
                link.close()

    def _pause(self, error: Exception) -> float:
        """Log a failure, and give the pause before the next try."""
        self._failures += 1
        logger.warning("no turn: %s", _line(error))
        return _backoff(self._failures)

    @staticmethod
    def _call(link: Link, calls: Sequence[Call[Any]]) -> list[Any]:
        """Make calls in one transaction, again after a serialization failure or a deadlock."""
        for pause in _connections.pauses():
            try:
                with link.use(CALL_SECONDS) as conn:
                    return together(conn, calls)
            except psycopg.Error as error:
                if error.sqlstate not in _connections.RETRIED:
                    raise
            time.sleep(pause)
        with link.use(CALL_SECONDS) as conn:
            return together(conn, calls)

    # The jobs

    def _give(self, run: ClaimedRun, *, is_started: bool) -> None:
        """Hand a run to a thread; there is one for each job that may be in hand, as needed."""
        self._jobs.put((run, is_started))
        if len(self._threads) < min(self._concurrency, len(self._in_hand)):
            thread = threading.Thread(
                target=self._work, name=f"pgdispatch-job-{len(self._threads)}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            run, is_started = job
            try:
                if is_started:
                    report = (_COMPLETED, run, _result(self._handler(run)))
                else:
                    if self._prepare is not None:
                        self._prepare(run)
                    report = (_STARTED, run, {})
            except HandBack as error:
                report = (_DEFERRED, run, {"until": error.until})
            except JobFailed as error:
                report = (_FAILED, run, error.report)
            except BaseException as error:
                text = "".join(traceback.format_exception(error))
                report = (_FAILED, run, {"failure_reason": "agent_error", "error": text})
            self._inbox.put(report)

    def _tell_to_stop(self, runs: Iterable[ClaimedRun]) -> None:
        stop = getattr(self._handler, "stop", None)
        if stop is None:
            return
        for run in runs:
            try:
                stop(run.run_id)
            except Exception as error:
                logger.error("run %s: cannot be stopped: %s", run.run_id, _line(error))

    # Beside the loop

    def _keep(self) -> None:
        """Send heartbeats, and extend the leases of what is in hand."""
        third = self._lease.total_seconds() / 3
        next_beat = time.monotonic() + self._beat
        failures = 0
        pause = min(third, self._beat)
        while not self._over.wait(pause):
            try:
                if time.monotonic() >= next_beat:
                    for workspace, runtimes in self._runtimes.items():
                        self._call(self._keep_link, [_calls.heartbeat(workspace, runtimes)])
                    next_beat = time.monotonic() + self._beat
                self._extend(third)
                failures, pause = 0, min(third, self._beat)
            except Exception as error:
                if self._over.is_set():
                    return
                failures += 1
                pause = min(_backoff(failures), third, self._beat)
                logger.warning("no heartbeat: %s", _line(error))

    def _extend(self, third: float) -> None:
        now = time.monotonic()
        due = sorted(
            (each for each in self._in_hand.copy().values() if each.due <= now),
            key=lambda each: (each.run.workspace_id, each.run.run_id),
        )
        if not due:
            return
        answers: list[Transition] = self._call(
            self._keep_link,
            [
                _calls.extend_lease(
                    each.run.workspace_id, each.run.run_id, each.run.claim_no, self._lease
                )
                for each in due
            ],
        )
        lost = []
        for each, answer in zip(due, answers, strict=True):
            if answer.applied:
                each.due = now + third
            elif answer.reason != "lease_expired" and _key(each.run) in self._in_hand:
                logger.info("run %s: lost: %s", each.run.run_id, answer.reason)
                lost.append(each.run)
        self._tell_to_stop(lost)

    def _listen(self) -> None:
        """Look for work when the server says that there may be some.

        Each subscription is followed by a look, since nobody heard what was said before it.
        """
        assert self._listen_link is not None  # noqa: S101
        failures = 0
        while not self._over.is_set():
            try:
                with self._listen_link.use(CALL_SECONDS) as conn:
                    self._subscribe(conn)
                    failures = 0
                    while not self._over.is_set():
                        self._hear(conn)
            except Exception as error:
                if self._over.is_set():
                    return
                failures += 1
                logger.warning("not listening: %s", _line(error))
                self._over.wait(_backoff(failures))
            finally:
                self._listen_link.close()

    def _subscribe(self, conn: psycopg.Connection[Any]) -> None:
        channel = together(conn, [_calls.wake_channel()])[0]
        conn.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
        self._inbox.put(_LOOK)

    def _hear(self, conn: psycopg.Connection[Any]) -> None:
        """Listen for a while, then see whether the other side is still there."""
        assert self._listen_link is not None  # noqa: S101
        self._listen_link.extend(self._probe + PROBE_SECONDS)
        for notice in conn.notifies(timeout=self._probe):
            # What the loop's own transactions cause, they have claimed already.
            if notice.payload in self._names and notice.pid != self._loop_link.backend_pid:
                self._inbox.put(_LOOK)
        self._listen_link.extend(PROBE_SECONDS)
        conn.execute("select")

    def _guard(self) -> None:
        """Cut off connections on which an answer is overdue."""
        links = [self._loop_link, self._keep_link]
        if self._listen_link is not None:
            links.append(self._listen_link)
        while not self._is_closed.wait(GUARD_SECONDS):
            for link in links:
                link.expire()


def _thread(duty: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=duty, name=f"pgdispatch{duty.__name__}", daemon=True)
    thread.start()
    return thread


def _listen_source(source: str | Pool) -> str:
    """Tell where to listen when nothing else is said: where the calls go."""
    if not isinstance(source, ConnectionPool):
        return source
    if not isinstance(source.conninfo, str):
        raise TypeError("the pool makes its own connection strings: give listen_dsn")
    return source.conninfo


def _seconds(value: dt.timedelta | float) -> float:
    return value.total_seconds() if isinstance(value, dt.timedelta) else float(value)


def _served(
    workspace_id: Id | Mapping[Any, Iterable[Id]], runtime_ids: Iterable[Id] | None
) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Read which runtimes of which workspaces are served."""
    if isinstance(workspace_id, Mapping):
        if runtime_ids:
            raise TypeError("a mapping of workspaces already names the runtimes")
        given = dict(workspace_id)
    else:
        given = {workspace_id: runtime_ids or ()}
    served: dict[uuid.UUID, list[uuid.UUID]] = {}
    for workspace, runtimes in given.items():
        key: Any = _arguments.required_id("workspace_id", workspace).value
        ids: Any = _arguments.ids("runtime_ids", runtimes).value
        if not ids:
            _arguments.refuse("runtime_ids", "argument missing", "name at least one runtime.")
        served[key] = ids
    if not served:
        _arguments.missing("workspace_id")
    return served


def _result(value: Json) -> dict[str, Any]:
    """Write what a handler returned in the keys of complete_run."""
    if not isinstance(value, Done):
        return {} if value is None else {"result": value}
    given = {
        "result": value.result,
        "session_id": value.session_id,
        "work_dir": value.work_dir,
        "session_lost": value.session_lost,
    }
    return {name: each for name, each in given.items() if each is not None}


def _report_calls(
    workspace: uuid.UUID, reports: Iterable[_Report], lease: dt.timedelta
) -> list[tuple[Call[Any], list[_Report]]]:
    """Give the calls that make reports, each with the reports that it makes."""
    by_kind: dict[str, list[_Report]] = {}
    for report in reports:
        by_kind.setdefault(report[0], []).append(report)
    calls: list[tuple[Call[Any], list[_Report]]] = []
    for kind, function in (
        (_COMPLETED, _calls.complete_runs),
        (_FAILED, _calls.fail_runs),
        (_STARTED, _calls.start_runs),
    ):
        if same := by_kind.get(kind):
            more = {"lease": lease} if kind == _STARTED else {}
            elements = [
                {"run_id": run.run_id, "claim_no": run.claim_no, **more, **said}
                for _, run, said in same
            ]
            calls.append((function(workspace, elements), same))
    for report in by_kind.get(_DEFERRED, ()):
        _, run, said = report
        # The instant of its claim is past by the database's own clock.
        until = said.get("until") or run.dispatched_at
        calls.append((_calls.defer_run(workspace, run.run_id, run.claim_no, until), [report]))
    return calls


def _backoff(failures: int) -> float:
    """Give the pause after so many failures in a row, with jitter."""
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, 10))
    return pause * random.uniform(0.5, 1.0)  # noqa: S311


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
