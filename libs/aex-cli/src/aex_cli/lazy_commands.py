"""Commands that are imported when they are called: `aex token` does not wait for what `aex verify` needs."""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from aex_runtime.commandline.errors import UserError

GROUP = "aex.commands"
"""The entry point group by which services add commands: a `typer.Typer`, or a function."""

BUILT_IN = {
    "up": "aex_cli.commands.up:app",
    "demo": "aex_cli.commands.demo:app",
    "lint": "aex_cli.commands.lint:app",
    "verify": "aex_cli.commands.verify:app",
    "domains": "aex_cli.commands.domains:app",
    "token": "aex_cli.commands.token:app",
    "deadletters": "aex_cli.commands.deadletters:app",
    "outcomes": "aex_cli.commands.outcomes:app",
}
Command = TyperCommand | TyperGroup


@dataclass(frozen=True, slots=True)
class Source:
    """Where a command comes from."""

    entry: EntryPoint
    package: str

    def load(self) -> Command:
        """The command; where it cannot be imported, one that says so when it is called."""
        try:
            return _as_command(self.entry.name, self.entry.load())
        except Exception as error:  # noqa: BLE001 a plug-in may fail in any way, and must not take `aex` with it
            return _broken(self, error)


def command_sources() -> dict[str, Source]:
    """Our own commands, then those of the installed packages; a name that is taken stays as it is."""
    sources = {name: Source(EntryPoint(name, target, GROUP), "aex-cli") for name, target in BUILT_IN.items()}
    for entry in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        sources.setdefault(entry.name, Source(entry, entry.dist.name if entry.dist else "an unknown package"))
    return sources


class LazyCommands(MutableMapping[str, Any]):
    """Commands by name, each loaded when it is first looked up."""

    def __init__(self, sources: dict[str, Source]) -> None:
        self._sources = sources
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self._sources[name].load()
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._sources[name]
        self._loaded.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._sources, **self._loaded})

    def __len__(self) -> int:
        return len({**self._sources, **self._loaded})


class LazyGroup(TyperGroup):
    """A command group whose members are loaded on demand."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands(command_sources())

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 the signature is typer's
        """The names, without loading what stands behind them."""
        return list(self.commands)


def _as_command(name: str, found: object) -> Command:
    app = found
    if not isinstance(app, typer.Typer):
        if not callable(found):
            raise TypeError(f"{found!r} is neither a typer.Typer nor a function")
        app = typer.Typer(add_completion=False)
        app.command(name)(found)
    command = typer.main.get_command(app)
    if not isinstance(command, TyperCommand | TyperGroup):
        raise TypeError(f"{found!r} makes no command")
    command.name = name
    return command


def _broken(source: Source, error: Exception) -> Command:
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
