"""Fixtures for tests that need a database, and the collector of the pgTAP scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pgtap import SERVERS, PgTapFile
from tests.support.servers import REPOSITORY, Database, Server, Servers, ServerUnavailable


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --server, which narrows a run to some servers."""
    parser.addoption(
        "--server",
        action="append",
        default=[],
        metavar="NAME",
        help="run on this server only: pg15, pg18 (may be repeated)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the registry of servers; none starts before a test asks for it."""
    try:
        config.stash[SERVERS] = Servers(config.getoption("--server"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what was started."""
    if SERVERS in config.stash:
        config.stash[SERVERS].close()


def pytest_report_header(config: pytest.Config) -> str:
    """Say which servers the run covers."""
    return f"servers: {', '.join(config.stash[SERVERS].names)}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Take test_*.sql under pgtap/ as pgTAP scripts."""
    is_script = file_path.suffix == ".sql" and file_path.name.startswith("test_")
    if is_script and file_path.is_relative_to(REPOSITORY / "pgtap"):
        return PgTapFile.from_parent(parent, path=file_path)
    return None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that uses a server once on each of them."""
    if "server" in metafunc.fixturenames:
        names = metafunc.config.stash[SERVERS].names
        metafunc.parametrize("server", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Server:
    """A running server: PostgreSQL 15, 18, or the one that was asked for."""
    try:
        found: Server = request.config.stash[SERVERS].get(request.param)
    except ServerUnavailable as reason:
        pytest.skip(str(reason))
    return found


@pytest.fixture
def db(server: Server) -> Iterator[Database]:
    """A fresh database with the schema, for this test alone."""
    with server.database() as database:
        yield database


@pytest.fixture
def empty_db(server: Server) -> Iterator[Database]:
    """A fresh database without the schema."""
    with server.database(empty=True) as database:
        yield database


@pytest.fixture(scope="session")
def catalog_db(server: Server) -> Iterator[Database]:
    """One database with the schema for all tests that only read its catalog."""
    with server.database() as database:
        yield database
