"""A command group that imports a command only when it is called.

So `aex token` does not load the modules of `aex verify`.
"""

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from aex_runtime.commandline import UserError

GROUP = "aex.commands"
"""Entry point group by which packages add commands. Each is a `typer.Typer` or a function."""

BUILT_IN = {
    "up": "aex_cli.commands.up:app",
    "demo": "aex_cli.commands.demo:app",
    "lint": "aex_cli.commands.lint:app",
    "verify": "aex_cli.commands.verify:app",
    "import": "aex_cli.commands.import_evals:app",
    "work": "aex_cli.commands.work:app",
    "domains": "aex_cli.commands.domains:app",
    "token": "aex_cli.commands.token:app",
    "deadletters": "aex_cli.commands.deadletters:app",
    "outbox": "aex_cli.commands.outbox:app",
    "outcomes": "aex_cli.commands.outcomes:app",
}
Command = TyperCommand | TyperGroup


@dataclass(frozen=True, slots=True)
class CommandSource:
    """The entry point of a command and the package that provides it."""

    entry: EntryPoint
    package: str

    def load(self) -> Command:
        """Import and return the command. If that fails, return a command that reports the failure when called."""
        try:
            return _as_command(self.entry.name, self.entry.load())
        except Exception as error:  # noqa: BLE001 a plug-in may fail in any way, and must not break `aex`
            return _unavailable_command(self, error)


def find_command_sources() -> dict[str, CommandSource]:
    """Return all commands by name: the built-in ones, then those of installed packages.

    Of several with the same name the first is used.
    """
    sources = {name: CommandSource(EntryPoint(name, target, GROUP), "aex-cli") for name, target in BUILT_IN.items()}
    for entry in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        sources.setdefault(entry.name, CommandSource(entry, entry.dist.name if entry.dist else "an unknown package"))
    return sources


class LazyGroup(TyperGroup):
    """A command group that imports a command only when it is called or its help is printed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: dict[str, Any] = dict(find_command_sources())

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 the signature is typer's
        """Return the names of the commands without importing them."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 the signature is typer's
        """Import and return the command of this name; None if there is none."""
        source = self.commands.get(cmd_name)
        return source and source.load()


def _as_command(name: str, target: object) -> Command:
    app = target
    if not isinstance(app, typer.Typer):
        if not callable(target):
            raise TypeError(f"{target!r} is neither a typer.Typer nor a function")
        app = typer.Typer(add_completion=False)
        app.command(name)(target)
    command = typer.main.get_command(app)
    if not isinstance(command, TyperCommand | TyperGroup):
        raise TypeError(f"{target!r} makes no command")
    command.name = name
    return command


def _unavailable_command(source: CommandSource, error: Exception) -> Command:
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    name = source.entry.name

    def refuse(**_: Any) -> None:
        raise UserError(f"`aex {name}` of {source.package} cannot be loaded: {cause}", f"reinstall {source.package}")

    return TyperCommand(
        name=name,
        callback=refuse,
        help=f"(unavailable, {source.package}: {cause})",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
