from __future__ import annotations

import logging
import re
import uuid
from typing import Any

from pgdispatch import Dispatch
from tests.support.clients import make_world
from tests.support.servers import REPOSITORY, Database

GUIDE = REPOSITORY / "pyapi" / "README.md"


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.S | re.M)


def test_the_guide_s_examples_run_in_order(db: Database) -> None:
    db.execute("create table public.ticket (title text)")
    worked: list[Any] = []

    def work_on(payload: object, triggers: object) -> dict[str, bool]:
        worked.append((payload, triggers))
        return {"ok": True}

    with Dispatch(db.dsn) as dispatch:
        world = make_world(dispatch)
        names: dict[str, Any] = {
            "workspace_id": world.workspace,
            "ana": world.ana,
            "alpha": world.agent,
            "laptop": world.runtime,
            "ben": uuid.uuid4(),
            "beta": uuid.uuid4(),
            "work_on": work_on,
            "log": logging.getLogger(__name__),
            "logging": logging,
            "my_handler": logging.NullHandler(),
        }
        try:
            for block in blocks():
                source = block.replace('"dbname=app"', repr(db.dsn))
                names["dispatch"] = dispatch
                exec(compile(source, GUIDE.name, "exec"), names)
        finally:
            logging.getLogger("pgdispatch").removeHandler(names["my_handler"])

    assert len(blocks()) == 7
    assert db.execute("select t.title from public.ticket as t") == [("Login is broken",)]
    assert [payload["task_id"] for payload, _ in worked] == [str(names["issue"].issue_id)]
    assert db.execute("select r.status::text, r.result from dispatch.runs as r") == [
        ("completed", {"ok": True}),
        ("queued", None),
        ("queued", None),
    ]
    assert (names["each"].outcome, names["each"].target_id) == ("queued", world.agent)
    assert names["answer"].outcome == "queued"
