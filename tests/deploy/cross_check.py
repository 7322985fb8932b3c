"""The settings as the code declares them, held against every document that names them.

Each function reads one document and answers with what is to be mended. Terraform has its own, beside its files.
"""

from collections.abc import Iterator
from pathlib import Path

from tests.deploy.declared import (
    SERVICES,
    Declared,
    common,
    differences,
    every,
    misdirected,
    missing,
    port_of,
    unequal,
    unknown,
)
from tests.deploy.images.dockerfile import path_of, read
from tests.deploy.naming import (
    COMPOSE,
    SET_FOR_THEM,
    blocks,
    compose_environments,
    compose_services,
    interpolated,
    names_in,
    numbers_in_tables,
)

ROOT = Path(__file__).parents[2]
COMPOSE_FILE, EXAMPLE = ROOT / COMPOSE, ROOT / ".env.example"
DOCKERFILES = {service: path_of(service) for service in SERVICES}
SOURCES = sorted(path for pattern in ("libs/*/src", "services/*/src") for path in ROOT.glob(f"{pattern}/**/*.py"))
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "libs/*/README.md", "services/*/README.md", "deploy/**/*.md")
    for path in ROOT.glob(pattern)
)

_ONE_MACHINE = "the containers share one machine, and whatever account it runs as: Google cannot tell them apart"
LEFT_OUT_OF_COMPOSE = {
    "AEX_GOOGLE_JWKS": _ONE_MACHINE,
    "AEX_INSTANCE": "no container has a successor that would know its name",
    "AEX_KEY_FILE": "the key is made in the data directory, which the containers share",
    "AEX_PARENT_FD": "no parent hands a container a pipe",
    "AEX_SERVICE_ACCOUNTS": _ONE_MACHINE,
    "AEX_SERVICE_TOKENS": _ONE_MACHINE,
    "AEX_PORT": "each image names its service's own port; .env says where that is published",
    "GCE_METADATA_HOST": _ONE_MACHINE,
    "STORAGE_EMULATOR_HOST": "blobs are in a folder: no emulator of Cloud Storage serves what obstore speaks",
}
NOT_OF_SERVICES = {
    "AEX_TOKEN": "the command `aex outcomes export` reads it",
    "AEX_FIRESTORE_EMULATOR_JAR": "the tests' emulators",
    "AEX_PUBSUB_EMULATOR_JAR": "the tests' emulators",
    "AEX_REQUIRE_EMULATORS": "the tests' emulators",
    "AEX_FUZZ_EXAMPLES": "the fuzzing",
}
"""Variables that documents and modules may name though no service reads them, and who does."""


def known_variables(settings: Declared) -> set[str]:
    """All that a document may name."""
    return every(settings) | set(NOT_OF_SERVICES)


def compose_problems(text: str, settings: Declared) -> list[str]:
    """The compose file: what it gives to each service, where it has them look for each other, and the ports."""
    given = compose_environments(text)
    return [
        *differences(COMPOSE, given, settings, LEFT_OUT_OF_COMPOSE),
        *misdirected(COMPOSE, given, {service: f"http://{service}:{port_of(service)}" for service in SERVICES}),
        *_port_problems(text),
        *unknown(COMPOSE, names_in(text), known_variables(settings)),
    ]


def _port_problems(text: str) -> Iterator[str]:
    services = compose_services(text)
    for service in SERVICES:
        variable, port = f"{service.upper().replace('-', '_')}_PORT", port_of(service)
        wanted = [f"${{LISTEN_ADDRESS:-127.0.0.1}}:${{{variable}:-{port}}}:{port}"]
        if services[service].get("ports") != wanted:
            yield f"{COMPOSE}: {service} publishes {services[service].get('ports')}, not {wanted}"


def example_problems(text: str, settings: Declared, compose: str) -> list[str]:
    """`.env.example`: every setting once, under whom it belongs to, with a meaning; and what the compose file reads."""
    found = blocks(text)
    named = {
        service: {e.name for block in found if service in block.services for e in block.entries} for service in SERVICES
    }
    own = {entry.name: entry.default for block in found if not block.services for entry in block.entries}
    set_for_them = {entry.name for block in found if SET_FOR_THEM in block.title for entry in block.entries}
    fixed = {
        name for given in compose_environments(compose).values() for name, value in given.items() if value is not None
    }
    place = ".env.example"
    return [
        *differences(place, named, settings, {}),
        *unequal(place, own, interpolated(compose)),
        *unknown(place, own, interpolated(compose)),
        *unknown(f"{place}: {SET_FOR_THEM} others", set_for_them, fixed | set(LEFT_OUT_OF_COMPOSE)),
        *missing(f"{place}: {SET_FOR_THEM} others", set_for_them, fixed | set(LEFT_OUT_OF_COMPOSE)),
        *unknown(place, names_in(text), known_variables(settings)),
        *_untidiness(text),
    ]


def _untidiness(text: str) -> Iterator[str]:
    names = [entry.name for block in blocks(text) for entry in block.entries]
    yield from (f".env.example: {name} is there twice" for name in sorted({n for n in names if names.count(n) > 1}))
    for block in blocks(text):
        if [entry.name for entry in block.entries] != sorted(entry.name for entry in block.entries):
            yield f".env.example: {block.title} is not in alphabetical order"
        yield from (f".env.example: {entry.name} has no meaning" for entry in block.entries if not entry.meaning)


def image_problems(service: str, text: str, settings: Declared) -> list[str]:
    """A Dockerfile: the settings that it fixes are the service's, and it says the service's port."""
    place = f"services/{service}/Dockerfile"
    image = read(text).final
    given = {name: value for name, value in image.environment.items() if names_in(name)}
    port = {"EXPOSE": image.last("EXPOSE").rest, "AEX_PORT": given.get("AEX_PORT")}
    return [
        *unknown(place, names_in(text), settings[service]),
        *unequal(place, port, dict.fromkeys(port, str(port_of(service)))),
        *unequal(place, given, {"AEX_HOST": "0.0.0.0"}),  # noqa: S104 a container's own loopback is reached by nobody
    ]


def document_problems(path: str, text: str, settings: Declared) -> list[str]:
    """A page in Markdown names settings that there are, with their defaults; a package's README, all of its own."""
    tables = numbers_in_tables(text)
    defaults = {
        name: float(field.default)
        for own in settings.values()
        for name, field in own.items()
        if isinstance(field.default, int | float) and name in tables
    }
    wanted = {f"services/{service}/README.md": set(own) - common(settings) for service, own in settings.items()}
    wanted["libs/aex-runtime/README.md"] = common(settings)
    return [
        *unknown(path, names_in(text), known_variables(settings)),
        *missing(path, names_in(text), wanted.get(path, ())),
        *unequal(path, tables, defaults),
    ]


def source_problems(path: str, text: str, settings: Declared) -> list[str]:
    """A module names settings that there are: in messages, and where it sets them for a child."""
    return unknown(path, names_in(text), known_variables(settings))
