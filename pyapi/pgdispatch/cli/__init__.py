"""The command line: `pgdispatch COMMAND`.

Each module of this package whose name has no leading underscore is one command and holds it
as `command`; a module is imported when its command is asked for.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the database is behind or has drifted.
"""

from __future__ import annotations

import importlib
import pkgutil

import click


class _Commands(click.Group):
    """The commands of this package, one module each."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every command."""
        return sorted(
            module.name
            for module in pkgutil.iter_modules(__path__)
            if not module.name.startswith("_")
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        found = importlib.import_module(f"{__name__}.{cmd_name}").command
        assert isinstance(found, click.Command)  # noqa: S101
        return found


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pgdispatch")
def main() -> None:
    """Dispatch of agent runs as stored logic inside PostgreSQL."""
