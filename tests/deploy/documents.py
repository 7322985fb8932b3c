"""Documents that name settings: compose file, `.env.example`, Dockerfiles, Markdown and modules.

Each `check_*` function compares one document with the declared settings and returns one line per problem.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from tests.parts.dockerfiles import dockerfile_path, parse_last_stage
from tests.parts.settings_table import (
    SERVICES,
    SettingsTable,
    all_names,
    common_names,
    compare_services,
    find_missing,
    find_unequal,
    find_unknown,
    find_wrong_urls,
    port_of,
)

ROOT = Path(__file__).parents[2]
COMPOSE = "docker-compose.yml"
COMPOSE_FILE, EXAMPLE = ROOT / COMPOSE, ROOT / ".env.example"
DOCKERFILES = {service: dockerfile_path(service) for service in SERVICES}
SOURCES = sorted(path for pattern in ("libs/*/src", "services/*/src") for path in ROOT.glob(f"{pattern}/**/*.py"))
PAGES = sorted(
    path
    for pattern in ("*.md", "libs/*/README.md", "services/*/README.md", "deploy/**/*.md")
    for path in ROOT.glob(pattern)
)
_ONE_MACHINE = "the containers share one machine and its account, so Google cannot distinguish them"
LEFT_OUT_OF_COMPOSE = {
    "AEX_GOOGLE_JWKS": _ONE_MACHINE,
    "AEX_INSTANCE": "no container keeps its name over a restart",
    "AEX_KEY_FILE": "the key is made in the data directory, which the containers share",
    "AEX_PARENT_FD": "a container has no parent process with a pipe",
    "AEX_SERVICE_ACCOUNTS": _ONE_MACHINE,
    "AEX_SERVICE_TOKENS": _ONE_MACHINE,
    "AEX_PORT": "each image sets its service's own port; .env sets the published port",
    "GCE_METADATA_HOST": _ONE_MACHINE,
    "STORAGE_EMULATOR_HOST": "blobs are in a folder: no emulator of Cloud Storage serves obstore's protocol",
}
NOT_OF_SERVICES = {
    "AEX_TOKEN": "the command `aex outcomes export` reads it",
    "AEX_FIRESTORE_EMULATOR_JAR": "the tests' emulators",
    "AEX_PUBSUB_EMULATOR_JAR": "the tests' emulators",
    "AEX_REQUIRE_EMULATORS": "the tests' emulators",
    "AEX_FUZZ_EXAMPLES": "the fuzzing",
}
"""Variables that no service reads, and their reader."""
VARIABLE = re.compile(
    r"\b(?:AEX_[A-Z0-9]+(?:_[A-Z0-9]+)*|[A-Z]+_EMULATOR_HOST[A-Z0-9_]*|GCE_METADATA_HOST[A-Z0-9_]*)\b(?!_)"
)
_BLOCK = re.compile(r"^# ---- (.+?) ----$", re.MULTILINE)
_ENTRY = re.compile(r"^#?([A-Z][A-Z0-9_]*)=(.*)$")
_ROW = re.compile(r"^\| `([A-Z_]+)` \| ([0-9.]+) \|", re.MULTILINE)
_EVERY_SERVICE, _SET_BY_OTHERS = "every service", "set by"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of `.env.example`: a name, its default, and the comment above it."""

    name: str
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Block:
    """The entries under one heading; `services` is empty for the compose file's own."""

    title: str
    services: tuple[str, ...]
    entries: tuple[Entry, ...]


def find_names(text: str) -> set[str]:
    """Return every variable that a text mentions."""
    return set(VARIABLE.findall(text))


def known_variables(table: SettingsTable) -> set[str]:
    """Return every variable that a document may name."""
    return all_names(table) | set(NOT_OF_SERVICES)


@lru_cache(maxsize=4)
def _parse_services(compose: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.load(compose, yaml.CSafeLoader)["services"]
    return found


def parse_environments(compose: str) -> dict[str, dict[str, str | None]]:
    """Return each service's environment in the compose file; None passes a value on from `.env`."""
    services = _parse_services(compose)
    return {name: dict(services[name].get("environment") or {}) for name in services if name in SERVICES}


def parse_blocks(example: str) -> list[Block]:
    """Return the blocks of `.env.example`."""
    pieces = _BLOCK.split(example)[1:]
    return [
        Block(title, _parse_title(title), tuple(_parse_entries(body)))
        for title, body in zip(pieces[::2], pieces[1::2], strict=True)
    ]


def _parse_title(title: str) -> tuple[str, ...]:
    owner = title.partition(":")[0]
    if owner in {_EVERY_SERVICE, COMPOSE}:
        return SERVICES if owner == _EVERY_SERVICE else ()
    return tuple(owner.split(", "))


def _parse_entries(body: str) -> Iterator[Entry]:
    comment: list[str] = []
    for line in body.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            yield Entry(entry[1], entry[2], " ".join(comment))
        comment = [] if entry or not line else [*comment, line.removeprefix("# ")]


def uncomment_defaults(example: str) -> str:
    """Return `.env.example` with every default in force."""
    return re.sub(r"^#([A-Z][A-Z0-9_]*=)", r"\1", example, flags=re.MULTILINE)


def check_compose(text: str, table: SettingsTable) -> list[str]:
    """Compare each service's environment, URLs and ports in the compose file."""
    given, services = parse_environments(text), _parse_services(text)
    ports = {
        service: [f"${{LISTEN_ADDRESS:-127.0.0.1}}:${{{variable}:-{port_of(service)}}}:{port_of(service)}"]
        for service, variable in ((each, f"{each.upper().replace('-', '_')}_PORT") for each in SERVICES)
    }
    return [
        *compare_services(COMPOSE, given, table, LEFT_OUT_OF_COMPOSE),
        *find_wrong_urls(COMPOSE, given, {service: f"http://{service}:{port_of(service)}" for service in SERVICES}),
        *find_unequal(f"{COMPOSE}: ports", {each: services[each].get("ports") for each in SERVICES}, ports),
        *find_unknown(COMPOSE, find_names(text), known_variables(table)),
    ]


def check_example(text: str, table: SettingsTable, compose: str) -> list[str]:
    """Compare `.env.example`: every setting once, under its service, with a meaning; also compose's own."""
    blocks, document = parse_blocks(text), ".env.example"
    named = {
        service: {e.name for block in blocks if service in block.services for e in block.entries}
        for service in SERVICES
    }
    own = {entry.name: entry.default for block in blocks if not block.services for entry in block.entries}
    by_others = {entry.name for block in blocks if _SET_BY_OTHERS in block.title for entry in block.entries}
    environments = parse_environments(compose).values()
    fixed = {name for each in environments for name, value in each.items() if value is not None}
    interpolated = dict(re.findall(r"\$\{([A-Z_]+):-([^}]*)\}", compose))
    return [
        *compare_services(document, named, table, {}),
        *find_unequal(document, own, interpolated),
        *find_unknown(document, own, interpolated),
        *compare_services(
            document, {"set by others": by_others}, {"set by others": fixed | {*LEFT_OUT_OF_COMPOSE}}, {}
        ),
        *find_unknown(document, find_names(text), known_variables(table)),
        *_check_layout(blocks),
    ]


def _check_layout(blocks: list[Block]) -> Iterator[str]:
    names = [entry.name for block in blocks for entry in block.entries]
    yield from (f".env.example: {name} is there twice" for name in sorted({n for n in names if names.count(n) > 1}))
    for block in blocks:
        if [entry.name for entry in block.entries] != sorted(entry.name for entry in block.entries):
            yield f".env.example: {block.title} is not in alphabetical order"
        yield from (f".env.example: {entry.name} has no meaning" for entry in block.entries if not entry.meaning)


def check_dockerfile(service: str, text: str, table: SettingsTable) -> list[str]:
    """Compare the settings and the port that a Dockerfile fixes."""
    document = f"services/{service}/Dockerfile"
    image = parse_last_stage(text)
    given = {name: value for name, value in image.environment.items() if find_names(name)}
    expected = {"AEX_HOST": "0.0.0.0", "AEX_PORT": str(port_of(service)), "AEX_DATA_DIR": "/data"}  # noqa: S104 a container's own address
    return [
        *find_unknown(document, find_names(text), table[service]),
        *find_unequal(document, given, expected),
        *find_unequal(document, {"EXPOSE": image.instructions["EXPOSE"]}, {"EXPOSE": str(port_of(service))}),
    ]


def check_page(path: str, text: str, table: SettingsTable) -> list[str]:
    """Compare names and numeric defaults of a Markdown page; a README names all settings of its package."""
    tables = {name: float(cell) for name, cell in _ROW.findall(text)}
    defaults = {
        name: float(field.default)
        for own in table.values()
        for name, field in own.items()
        if isinstance(field.default, int | float) and name in tables
    }
    expected = {f"services/{service}/README.md": set(own) - common_names(table) for service, own in table.items()}
    expected["libs/aex-runtime/README.md"] = common_names(table)
    return [
        *find_unknown(path, find_names(text), known_variables(table)),
        *find_missing(path, find_names(text), expected.get(path, ())),
        *find_unequal(path, tables, defaults),
    ]
