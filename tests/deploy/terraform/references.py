"""What expressions refer to, and whether it is there; what is declared, and whether anything uses it."""

import re
from collections.abc import Iterator

from tests.deploy.terraform.configuration import Configuration

_COMMENT = re.compile(r"(?m)^\s*#.*$|\s#[^\n\"]*$")
_PLAIN = re.compile(r"\b(var|local)\.([a-z_][a-z0-9_]*)")
_PLACE = re.compile(r"(?<![\w.\"-])((?:data\.|ephemeral\.)?(?:google|tls)_[a-z0-9_]+\.[a-z_]+)\b")


def declared(configuration: Configuration) -> set[str]:
    """By the addresses that expressions use."""
    names = {
        block.address for block in configuration.blocks if block.kind in {"resource", "data", "ephemeral", "variable"}
    }
    for block in configuration.of("locals"):
        names |= {f"local.{name}" for name in block.body if not name.startswith("__")}
    return names


def referred(configuration: Configuration) -> set[str]:
    """What any expression names."""
    return {name for text in configuration.texts.values() for name in names_of(_COMMENT.sub("", text))}


def dangling(configuration: Configuration) -> list[str]:
    """What is referred to and not declared."""
    return sorted(referred(configuration) - declared(configuration))


def unused(configuration: Configuration) -> list[str]:
    """Variables, locals and what is asked of Google, that nothing refers to."""
    idle = declared(configuration) - referred(configuration)
    return sorted(name for name in idle if name.startswith(("var.", "local.", "data.", "ephemeral.")))


def names_of(text: str) -> set[str]:
    """What the expressions of a text name."""
    return set(_names(text))


def _names(text: str) -> Iterator[str]:
    for kind, name in _PLAIN.findall(text):
        yield f"{kind}.{name}"
    yield from _PLACE.findall(text)
