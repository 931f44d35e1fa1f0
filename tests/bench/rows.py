"""The lines that are measured, and how they are shown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table


@dataclass
class Row:
    """One line: rates per second, or other figures where the unit says so."""

    name: str
    goal: str = ""
    unit: str = "/s"
    floor: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    peers: dict[str, list[float]] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """What pgdispatch reaches where the floor reaches 1."""
        return _ratio(self.ours, self.floor)

    def document(self) -> dict[str, Any]:
        """Write the line for JSON, with its ratios to the floor and to each peer."""
        ratios = {name: _ratio(self.ours, found) for name, found in self.peers.items()}
        return asdict(self) | {"ratio": self.ratio, "ratio_to_peers": ratios}


def _ratio(own: Sequence[float], others: Sequence[float]) -> float | None:
    if not own or not others or not any(others):
        return None
    return statistics.median(own) / statistics.median(others)


def table(rows: Iterable[Row]) -> Table:
    """Show the medians, their spread, and the ratios."""
    found = Table(box=None, pad_edge=False)
    found.add_column("row", no_wrap=True)
    for column in ("floor F", "spread", "pgdispatch", "spread", "ratio"):
        found.add_column(column, justify="right", no_wrap=True)
    found.add_column("goal", no_wrap=True)
    for row in rows:
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        found.add_row(
            row.name, *_shown(row, row.floor), *_shown(row, row.ours), ratio, row.goal
        )
    return found


def peers_table(rows: Sequence[Row]) -> Table:
    """Show the rows that the peers have too, a system a line, with the ratio to pgdispatch."""
    found = Table(box=None, pad_edge=False)
    found.add_column("median, and pgdispatch against it", no_wrap=True)
    for row in rows:
        found.add_column(row.name, justify="right")
    names = dict.fromkeys(name for row in rows for name in row.peers)
    for name in ("pgdispatch", "floor F", *names):
        cells = []
        for row in rows:
            own = {"pgdispatch": row.ours, "floor F": row.floor}
            values = own.get(name, row.peers.get(name, []))
            ratio = _ratio(row.ours, values)
            cell, _ = _shown(row, values)
            cells.append(cell if name == "pgdispatch" or not ratio else f"{cell} {ratio:.1f} x")
        found.add_row(name, *cells)
    return found


def _shown(row: Row, values: Sequence[float]) -> tuple[str, str]:
    if not values:
        return "-", ""
    middle = statistics.median(values)
    spread = 100 * (max(values) - min(values)) / middle if middle else 0.0
    digits = 0 if middle >= 100 else 1 if middle >= 10 else 2
    return f"{middle:,.{digits}f} {row.unit}".rstrip(), f"{spread:.0f} %"
