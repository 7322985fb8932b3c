"""The JSON Schemas of the events' data, and the command that compares or writes them.

`python -m aex_models.event_schemas --check` exits with 1 if a committed schema differs from its model.
`--write` writes the schemas, and refuses a change that would break a reader.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from aex_models.allowlists import ALLOWED
from aex_models.events import TOPICS
from aex_models.schema_changes import find_breaking_changes

FOLDER = Path(__file__).parent / "schemas"
Schema = dict[str, Any]


class _AsPublished(GenerateJsonSchema):
    """Generator of the published schemas: only fields that services may read, and open to unknown fields."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        visible = ALLOWED[schema["cls"]]["service"]
        made["properties"] = {name: part for name, part in made.get("properties", {}).items() if name in visible}
        made["required"] = sorted(set(made.get("required", [])) & visible)
        made.pop("additionalProperties", None)  # a reader must stand fields that it does not know
        return made


def build_event_schema(event_type: str) -> Schema:
    """Return the JSON Schema (draft 2020-12) of the published `data` of an event type."""
    model: type[BaseModel] = TOPICS[event_type].data
    schema = model.model_json_schema(mode="serialization", schema_generator=_AsPublished)
    return {"$schema": _AsPublished.schema_dialect, "$id": f"urn:aex:event:{event_type}", **schema}


def build_event_schemas() -> dict[str, Schema]:
    """Return the published schemas of all event types, by type."""
    return {event_type: build_event_schema(event_type) for event_type in TOPICS}


def read_committed_schemas(folder: Path = FOLDER) -> dict[str, Schema]:
    """Read the schemas that `--write` stored in `folder`, by event type."""
    return {file.name.removesuffix(".json"): json.loads(file.read_text("utf-8")) for file in folder.glob("*.json")}


def incompatible_changes(committed: Mapping[str, Schema], current: Mapping[str, Schema]) -> list[str]:
    """Return one line for each change that breaks readers of the committed schemas."""
    gone = [f"{name}: no longer published" for name in committed if name not in current]
    return gone + [
        f"{name}{change}"
        for name in committed
        if name in current
        for change in find_breaking_changes(committed[name], current[name])
    ]


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """Compare or write the committed schemas and return the exit code.

    The code is 1 if a schema differs or a change would break readers; the differences are printed to stderr.
    """
    parser = argparse.ArgumentParser(prog="python -m aex_models.event_schemas", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the schemas of the models")
    parser.add_argument("--check", action="store_true", help="compare them with the committed ones (the default)")
    chosen = parser.parse_args(arguments)
    current, committed = build_event_schemas(), read_committed_schemas(folder)
    broken = incompatible_changes(committed, current)
    if broken:
        return _report("these changes break readers; give the event a new type, or delete its schema first", broken)
    if chosen.write:
        folder.mkdir(exist_ok=True)
        for name, schema in current.items():
            text = json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False)
            (folder / f"{name}.json").write_text(f"{text}\n", "utf-8")
        return 0
    stale = [name for name in current if committed.get(name) != current[name]]
    return _report("differ from the models; run with --write", stale) if stale else 0


def _report(what: str, lines: Sequence[str]) -> int:
    sys.stderr.write(f"{what}:\n" + "".join(f"  {line}\n" for line in lines))
    return 1


if __name__ == "__main__":
    sys.exit(main())
