"""The history of three migrations, made once for all tests that apply it."""

from __future__ import annotations

import pytest

from tests.migrations.support import History, make_history


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A project whose first migration was released; two more are not. To be left alone."""
    return make_history(tmp_path_factory.mktemp("history"))
