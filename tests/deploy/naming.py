"""Which settings a document names: the compose file, `.env.example`, a README, a module."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from tests.deploy.declared import SERVICES

VARIABLE = re.compile(
    r"\b(?:AEX_[A-Z0-9]+(?:_[A-Z0-9]+)*|[A-Z]+_EMULATOR_HOST[A-Z0-9_]*|GCE_METADATA_HOST[A-Z0-9_]*)\b(?!_)"
)
_BLOCK = re.compile(r"^# ---- (.+?) ----$", re.MULTILINE)
_ENTRY = re.compile(r"^#?([A-Z][A-Z0-9_]*)=(.*)$")
_INTERPOLATED = re.compile(r"\$\{([A-Z_]+):-([^}]*)\}")
_ROW = re.compile(r"^\| `([A-Z_]+)` \| ([^|]*?) \|", re.MULTILINE)
EVERY = "every service"
COMPOSE = "docker-compose.yml"
SET_FOR_THEM = "set by"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of `.env.example`: a name, the default that it shows, and the comment above it."""

    name: str
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Block:
    """Entries under one heading; `services` is empty where they are the compose file's own."""

    title: str
    services: tuple[str, ...]
    entries: tuple[Entry, ...]


def names_in(text: str) -> set[str]:
    """Every variable that a text mentions, wherever."""
    return set(VARIABLE.findall(text))


@lru_cache(maxsize=4)
def compose_services(text: str) -> Mapping[str, Any]:
    """The services of a compose file, as they are written."""
    found: Mapping[str, Any] = yaml.load(text, yaml.CSafeLoader)["services"]
    return found


def compose_environments(text: str) -> dict[str, dict[str, str | None]]:
    """Service → what the compose file gives it. None: a value is passed on from `.env`, if it is there."""
    services = compose_services(text)
    return {name: dict(service.get("environment") or {}) for name, service in services.items() if name in SERVICES}


def interpolated(text: str) -> dict[str, str]:
    """What the compose file reads from `.env` for itself, with its defaults."""
    return dict(_INTERPOLATED.findall(text))


def blocks(example: str) -> list[Block]:
    """The blocks of `.env.example`."""
    pieces = _BLOCK.split(example)[1:]
    return [
        Block(title, _services_of(title), tuple(_entries(body)))
        for title, body in zip(pieces[::2], pieces[1::2], strict=True)
    ]


def _services_of(title: str) -> tuple[str, ...]:
    whose = title.partition(":")[0]
    if whose in {EVERY, COMPOSE}:
        return SERVICES if whose == EVERY else ()
    return tuple(whose.split(", "))


def _entries(body: str) -> Iterator[Entry]:
    comment: list[str] = []
    for line in body.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            yield Entry(entry[1], entry[2], " ".join(comment))
        comment = [] if entry or not line else [*comment, line.removeprefix("# ")]


def filled_in(example: str) -> str:
    """`.env.example` with every default in force."""
    return re.sub(r"^#([A-Z][A-Z0-9_]*=)", r"\1", example, flags=re.MULTILINE)


def numbers_in_tables(readme: str) -> dict[str, float]:
    """The defaults that a README's tables tell as plain numbers."""
    return {name: float(cell) for name, cell in _ROW.findall(readme) if re.fullmatch(r"[0-9.]+", cell)}
