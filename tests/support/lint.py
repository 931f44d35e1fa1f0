"""Lint what general linters do not see: the bodies of the functions, on a live database.

`python -m tests.support.lint` builds a database from sql/ on PostgreSQL 15 and prints what it
finds: the rules of `lint_body` for each function, those of `lint_file` for each file of sql/,
and every finding of plpgsql_check.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from pgdispatch import schema
from tests.support.servers import Server, Servers, ServerUnavailable

#: The only functions that may catch errors, and so must raise anew what is no failed read.
CATCHERS = frozenset(
    {"_pause_verdict", "_allowance_verdict", "read_payload", "dispatch_autopilot"}
)

#: What a catcher lets through: no failed read, but the end of the call or of the transaction.
LET_THROUGH = {
    "class 40": r"\b40",
    "57014": r"57014|\bquery_canceled\b",
    "0A000": r"0A000|\bfeature_not_supported\b",
}

#: Seams of gates that admit every wake: they have the arguments of their contract and use none.
ADMITTING = frozenset({"_allowance_count", "_find_duplicate", "_may_coalesce"})

#: Functions that do nothing but raise.
RAISING = frozenset({"_raise", "_raise_wake"})

#: The only functions that read the server's clock.
CLOCKS = frozenset({"clock", "_uuid_tick"})

CODES = frozenset({"PD400", "PD403", "PD404", "PD409", "PD500", "PD503"})
MAX_COLUMNS = 96

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_LITERAL = re.compile(r"'(?:[^']|'')*'")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_DOLLAR = re.compile(r"\$(\w*)\$.*?\$\1\$", re.DOTALL)
_NOW = re.compile(
    r"\b(now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday)\s*\(|"
    r"\b(current_timestamp|current_date|current_time|localtime|localtimestamp)\b"
)
_TABLE_READ = re.compile(r"\b(where|join|insert\s+into|update\s+dispatch|delete\s+from)\b")
_RAISE_CALL = re.compile(
    r"dispatch\._raise\(\s*(?P<code>'[^']*'|[^,'\s]+)\s*,\s*(?P<message>'(?:[^']|'')*'|[^,']+)"
    r"\s*,\s*(?P<column>[^,]+?)\s*,"
)
_RAISE = re.compile(r"\braise\s+(?P<rest>[^;]*);", re.DOTALL)
_ATTRIBUTES = ("returns", "language", "volatility", "parallel", "cost", "security", "set")


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that one place breaks."""

    place: str
    rule: str

    def __str__(self) -> str:
        return f"{self.place}: {self.rule}"


def code_of(text: str) -> str:
    """Blank out comments, literals and quoted names: keywords and names are left."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    # A comment may hold an apostrophe and a literal may hold two dashes: whichever opens first.
    return re.sub(
        f"{_COMMENT.pattern}|{_LITERAL.pattern}|{_QUOTED.pattern}",
        blank,
        text,
        flags=re.DOTALL,
    )


def lint_body(name: str, body: str) -> Iterator[str]:
    """Give the rules that a function's body breaks."""
    code = code_of(body)
    for word in sorted(set(re.findall(r"\b[A-Z][A-Z_]+\b", code))):
        yield f"upper-case word {word}"
    if re.search(r"\b(select|returning)\s+(\w+\.)?\*", code):
        yield "takes every column (*): list them"
    if name not in CLOCKS and _NOW.search(code):
        yield "reads a clock other than dispatch.clock()"
    for statement in code.split(";"):
        if "dispatch.clock()" in statement and _TABLE_READ.search(statement):
            yield "reads dispatch.clock() inside a query, not into a variable"
    if re.search(r"\bvariable_conflict\b", code):
        yield "changes how names are resolved"
    yield from _lint_catching(name, body, code)
    yield from _lint_dynamic(body, code)
    yield from _lint_errors(name, body, code)


def _lint_catching(name: str, body: str, code: str) -> Iterator[str]:
    if not re.search(r"\bexception\s+when\b", code):
        return
    if name not in CATCHERS:
        yield "catches errors: only the four places of the contract may"
    elif re.search(r"\bwhen\s+others\b", code):
        for what, pattern in LET_THROUGH.items():
            if not re.search(pattern, body):
                yield f"catches others and does not raise {what} again"


def _lint_dynamic(body: str, code: str) -> Iterator[str]:
    lines, raw = code.splitlines(), body.splitlines()
    for number, line in enumerate(lines):
        if not re.search(r"\bexecute\b", line):
            continue
        before = next((text for text in reversed(raw[:number]) if text.strip()), "")
        if not before.strip().startswith("--"):
            yield f"line {number + 1}: dynamic SQL without a comment above that says why"


def _lint_errors(name: str, body: str, code: str) -> Iterator[str]:
    if name != "_raise":
        for found in _RAISE_CALL.finditer(body):
            where = f"error {found['message']}"
            if found["code"].startswith("'") and found["code"].strip("'") not in CODES:
                yield f"{where}: code {found['code']} is not one of class PD"
            message = found["message"]
            if message.startswith("'") and not re.fullmatch(r"'[a-z][^%]*[^.%]'", message):
                yield f"{where}: not a constant lower-case phrase without a full stop"
            if found["column"] in ("null", "''"):
                yield f"{where}: names no argument"
    for found in _RAISE.finditer(code):
        text = body[found.start() : found.end()]
        if not found["rest"].strip() or not re.match(r"\s*exception\b", found["rest"]):
            continue  # a bare raise lets an error through, and notices are no errors
        if "errcode" not in found["rest"]:
            yield "raises without a code"
            continue
        for part in ("message", "column", "hint"):
            if not re.search(rf"\b{part}\s*=", found["rest"]):
                yield f"raises without {part}"
        codes = re.findall(r"errcode\s*=\s*'([^']*)'", text)
        for errcode in codes:
            if errcode not in CODES:
                yield f"raises {errcode}, which is not of class PD"
        column = re.search(r"column\s*=\s*'([^']*)'", text)
        hint = re.search(r"hint\s*=\s*'([^']*)'", text)
        if column and hint and not hint[1].startswith(f"{column[1]}:"):
            yield f"the hint does not begin with {column[1]}:"


def lint_file(file: schema.SqlFile) -> Iterator[str]:
    """Give the rules that a file of sql/ breaks."""
    for number, line in enumerate(file.text.splitlines(), 1):
        if len(line) > MAX_COLUMNS and not line.lstrip().startswith("comment on"):
            yield f"line {number}: longer than {MAX_COLUMNS} columns"
        if "\t" in line or line != line.rstrip():
            yield f"line {number}: tab or trailing blank"
    outside = code_of(_DOLLAR.sub("", file.text))
    for word in sorted(set(re.findall(r"\b[A-Z][A-Z_]+\b", outside))):
        yield f"upper-case word {word}"
    if not file.path.startswith("sql/30_functions/"):
        return
    stem = file.path.rsplit("/", 1)[1].removesuffix(".sql")
    made = re.findall(r"^create (?:or replace )?function dispatch\.(\w+)", file.text, re.M)
    if made != [stem]:
        yield f"holds {', '.join(made) or 'no function'}, not {stem} alone"
    if not re.search(rf"^comment on function dispatch\.{stem}\(", file.text, re.M):
        yield "no comment on the function"
    if "Errors:" not in file.text:
        yield "the comment does not end with an Errors: line"
    yield from _lint_attributes(file.text)


def _lint_attributes(text: str) -> Iterator[str]:
    header = re.search(r"^\)?.*?^as \$", text, re.M | re.S)
    if header is None:
        yield "the body is not opened by a line of its own, as $fn$"
        return
    order = []
    for line in header[0].splitlines():
        word = line.split(" ")[0] if line and not line.startswith(" ") else ""
        if word in ("immutable", "stable", "volatile"):
            order.append("volatility")
        elif word == "rows":
            order.append("cost")
        elif word in _ATTRIBUTES:
            order.append(word)
    ranks = [_ATTRIBUTES.index(word) for word in order]
    if ranks != sorted(ranks):
        yield f"attributes out of order: {', '.join(order)}"
    for wanted in ("language", "volatility", "parallel"):
        if wanted not in order:
            yield f"no {wanted} label"
    if re.search(r"^returns (setof|table)\b", header[0], re.M) and "cost" not in order:
        yield "a set without a rows estimate"


def lint_files() -> list[Finding]:
    """Lint every file of sql/."""
    return [Finding(file.path, rule) for file in schema.load_sql() for rule in lint_file(file)]


def lint_database(connection: psycopg.Connection[Any]) -> list[Finding]:
    """Lint the bodies of all functions of the schema, and compile those in plain SQL."""
    findings = []
    for signature, name, language, body, definition in connection.execute(
        """
        select p.oid::regprocedure::text, p.proname, l.lanname, p.prosrc,
            pg_get_functiondef(p.oid)
        from pg_proc as p
        join pg_language as l on l.oid = p.prolang
        where p.pronamespace = 'dispatch'::regnamespace and p.prokind = 'f'
        order by 1
        """
    ).fetchall():
        findings += [Finding(signature, rule) for rule in lint_body(name, body)]
        if language == "sql":
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute(definition.encode())
            except psycopg.Error as error:
                findings.append(Finding(signature, str(error).splitlines()[0]))
    return findings


def check_plpgsql(connection: psycopg.Connection[Any]) -> list[Finding] | None:
    """Run plpgsql_check over all functions; None where the extension cannot be had."""
    available = connection.execute(
        "select from pg_available_extensions as e where e.name = 'plpgsql_check'"
    ).fetchone()
    if available is None:
        return None
    connection.execute("create extension if not exists plpgsql_check with schema public")
    rows = connection.execute(
        """
        select f.signature, f.proname, f.prosrc,
            c.lineno, c.level, c.sqlstate, c.message, c.detail, c.hint
        from (
            select p.oid, p.proname, p.prosrc, p.oid::regprocedure::text as signature, t.tgrelid
            from pg_proc as p
            left join pg_trigger as t on t.tgfoid = p.oid and not t.tgisinternal
            where p.pronamespace = 'dispatch'::regnamespace
                and p.prolang = (select l.oid from pg_language as l where l.lanname = 'plpgsql')
        ) as f
        cross join lateral public.plpgsql_check_function_tb(
            f.oid, coalesce(f.tgrelid, 0),
            fatal_errors => false,
            other_warnings => true,
            performance_warnings => true,
            extra_warnings => true,
            security_warnings => true
        ) as c
        order by f.signature, c.lineno
        """
    ).fetchall()
    findings = []
    for signature, name, body, line, *rest in rows:
        said = " ".join(str(part) for part in rest if part)
        if not _is_accepted(name, body, said):
            findings.append(Finding(f"{signature} line {line or 0}", said))
    return findings


def _is_accepted(name: str, body: str, said: str) -> bool:
    """Tell which remarks of plpgsql_check are wrong about us, and why."""
    if name in ADMITTING:
        return "unused parameter" in said or "should be IMMUTABLE" in said
    if "marked as VOLATILE, should be STABLE" in said:
        # It does not see that the server refuses row locks to all but volatile functions.
        return re.search(r"\bfor\s+(no\s+key\s+|key\s+)?(update|share)\b", body) is not None
    if "marked as STABLE, should be IMMUTABLE" in said:
        # An immutable call with constants runs when the statement is planned, and would raise
        # for a branch that is never reached.
        return name in RAISING
    return False


def _first_of(servers: Servers) -> Server:
    """Take PostgreSQL 15, for which there is plpgsql_check, or else what there is."""
    for name in servers.names[:-1]:
        with contextlib.suppress(ServerUnavailable):
            return servers.get(name)
    return servers.get(servers.names[-1])


def main() -> int:
    """Print every finding; 1 when there is one."""
    servers = Servers()
    findings = lint_files()
    checked = None
    try:
        server = _first_of(servers)
        with server.database() as database, database.connect() as connection:
            findings += lint_database(connection)
            checked = check_plpgsql(connection)
    except ServerUnavailable as reason:
        print(f"the bodies cannot be linted: {reason}", file=sys.stderr)
        return 1
    finally:
        servers.close()
    if checked is None:
        print(
            "plpgsql_check did not run: apt package postgresql-15-plpgsql-check",
            file=sys.stderr,
        )
    findings += checked or []
    for finding in findings:
        print(finding)
    print(f"sql: {len(findings)} findings" if findings else "sql: all checks passed")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
