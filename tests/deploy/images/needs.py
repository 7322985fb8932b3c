"""What an environment has and its program does not need, and the other way round."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.deploy.images.distributions import Installed
from tests.deploy.images.reached import reached_from

NAMED = {
    "uvloop": ("aex_runtime.process", "uvicorn is told by its name to use it"),
    "httptools": ("aex_runtime.http.connections", "uvicorn's protocol that we extend imports it"),
    "fastapi-offline": ("aex_runtime.http.docs", "its files are read, none of its code"),
    "pydantic-monty": ("aex_outcomes.sandbox.interpreter", "the name under which client and program are one version"),
    "pydantic-monty-runtime": ("aex_outcomes.sandbox.interpreter", "the program that the client starts"),
}
"""Distributions that no import tells of: whose need they are, and why."""


def superfluous(packages: Path, entries: Sequence[str]) -> set[str]:
    """Distributions that nothing reached from these modules imports, and nothing that it imports needs."""
    reached, installed = reached_from(packages, entries), Installed(packages)
    imported = {installed.owner(module) for module in (*reached.own, *reached.others)} - {None}
    direct = {name for name in imported if name is not None}
    named = {name for name, (module, _) in NAMED.items() if module in reached.own}
    others = {name for name in direct | named if not name.startswith("aex-")}
    return installed.names - direct - installed.needed_by(others, {})


def missing(packages: Path, entries: Sequence[str]) -> Mapping[str, str]:
    """The packages that reached modules import and that are not installed, each with a module that does."""
    reached, installed = reached_from(packages, entries), Installed(packages)
    return {
        module: by
        for module, by in reached.others.items()
        if installed.owner(module) is None and not installed.is_folder_of_several(module)
    }
