"""Which module may know which: the calls and the types stand below the clients."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pgdispatch

PACKAGE = Path(pgdispatch.__file__).parent

#: Modules that a lower module must not import, itself or by way of another.
ABOVE = {"pgdispatch.client", "pgdispatch.aio", "pgdispatch.cli", "pgdispatch.schema"}


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("module", ["_calls", "types", "errors", "_logging", "_reaper"])
def test_a_lower_module_imports_no_higher_one(module: str) -> None:
    assert imports_of(PACKAGE / f"{module}.py").isdisjoint(ABOVE)


def test_the_reaper_needs_the_standard_library_alone() -> None:
    """It runs as a script without any path to the package."""
    names = {name.split(".")[0] for name in imports_of(PACKAGE / "_reaper.py")}
    assert names.isdisjoint({"pgdispatch", "psycopg", "click", "yoyo"})


def test_using_the_clients_imports_neither_migrator_nor_command_line() -> None:
    for path in PACKAGE.glob("*.py"):
        if path.stem in ("schema", "embedded"):
            continue
        found = imports_of(path)
        assert not any(name.split(".")[0] in ("yoyo", "click", "rich") for name in found), path
        assert "pgdispatch.cli" not in found, path
