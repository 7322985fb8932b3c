"""Whether blocks have the arguments that a provider knows: their names, which are needed, and which are blocks.

`provider.json` has them for the resources that are used here, as hashicorp/google 6.50.0 and hashicorp/tls 4.1.0
declare them: `!` marks what is needed. It stands in for `terraform validate`, which needs the providers themselves.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.deploy.terraform.configuration import Block

Schema = Mapping[str, Any]
"""Argument → the name of its type, or a schema where it is a block."""
SCHEMAS: Mapping[str, Schema] = json.loads(Path(__file__).with_name("provider.json").read_text(encoding="utf-8"))
_META = {"for_each", "count", "depends_on", "lifecycle", "provider"}
_NOTES = {"__is_block__", "__comments__", "__inline_comments__"}
PREFIXES = {"resource": "", "data": "data.", "ephemeral": "ephemeral."}


def problems(block: Block) -> list[str]:
    """What a provider would not take of a top-level block; each line is one thing to mend."""
    kind = PREFIXES[block.kind] + block.labels[0]
    if kind not in SCHEMAS:
        return [f"{block.address}: {kind} is not in provider.json"]
    body = {name: value for name, value in block.body.items() if name not in _META}
    return list(_problems(block.address, body, SCHEMAS[kind]))


def _problems(place: str, body: Mapping[str, Any], schema: Schema) -> Iterator[str]:
    known = {name.removesuffix("!"): kind for name, kind in schema.items()}
    given = {**{name: value for name, value in body.items() if name not in {*_NOTES, "dynamic"}}, **_dynamic(body)}
    needed = [name.removesuffix("!") for name in schema if name.endswith("!")]
    yield from (f"{place}: {name} is needed" for name in needed if name not in given)
    for name, value in given.items():
        if name not in known:
            yield f"{place}: there is no {name}"
        elif isinstance(known[name], Mapping) != _is_block(value):
            yield f"{place}: {name} is {'a block' if isinstance(known[name], Mapping) else 'no block'}"
        elif isinstance(known[name], Mapping):
            for each in value:
                yield from _problems(f"{place}.{name}", each, known[name])


def _dynamic(body: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """What `dynamic` makes: the contents by the name of the block, beside those that are written out."""
    made: dict[str, list[Mapping[str, Any]]] = {}
    for each in body.get("dynamic", []):
        for name, dynamic in each.items():
            if name not in _NOTES:
                made.setdefault(name.strip('"'), list(body.get(name.strip('"'), []))).extend(dynamic["content"])
    return made


def _is_block(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) and "__is_block__" in each for each in value)
