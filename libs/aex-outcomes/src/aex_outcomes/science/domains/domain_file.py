"""Reading of a domain from a YAML file. Duplicate keys and YAML references are refused."""

import json
import re
from collections.abc import Callable, Hashable
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from aex_models.domains import Domain
from aex_models.validation_messages import message_of
from aex_outcomes.science.domains.soundness import InvalidDomain, check_domain

MAX_BYTES = 1_000_000
"""Maximum bytes of one file; the packaged files have about two thousand."""


class _InvalidYaml(ValueError):
    """Unreadable YAML; the message names the line and the fix."""


def read_domain_file(file: Path | Traversable, error_label: str | None = None) -> Domain:
    """Read and check the domain in a YAML file. Raises `InvalidDomain` for a file with any problem.

    `error_label`: name of the file in error messages, by default its path.
    """
    source = error_label or str(file)
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise InvalidDomain([(source, f"has more than {MAX_BYTES:,} bytes")])
        raw = _parse_yaml(content.decode("utf-8-sig"))
    except OSError as error:
        raise InvalidDomain([(source, f"cannot be read: {error.strerror or error}")]) from None
    except UnicodeDecodeError:
        raise InvalidDomain([(source, "not UTF-8; save the file in that encoding")]) from None
    except _InvalidYaml as error:
        raise InvalidDomain([(source, str(error))]) from None
    if not isinstance(raw, dict):
        raise InvalidDomain([(source, "expected a mapping with at least `name` and `description`")])
    try:
        # Through JSON, whose strict mode accepts only lists as lists, and no text or boolean as a number.
        domain = Domain.model_validate_json(json.dumps(raw, default=str), strict=True)
    except ValidationError as error:
        problems = []
        for each in error.errors():
            path = ".".join(str(step) for step in each["loc"] if step != "[key]")
            problem = "is missing" if each["type"] == "missing" else message_of(each, Domain)
            problems.append((f"{source}: {path}" if path else source, problem))
        raise InvalidDomain(problems) from None
    check_domain(domain, source)
    return domain


def _parse_yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 (derived from SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        position = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        details = ", ".join(each for each in (error.context, error.problem) if each)
        raise _InvalidYaml(f"not readable as YAML: {details}{position}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise _InvalidYaml(f"not readable as YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise _InvalidYaml("not readable as YAML: nested too deep") from None


class _StrictLoader(yaml.SafeLoader):
    """YAML loader that refuses duplicate keys, keys that are no text, and references."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            get_event: Callable[[], Any] = self.get_event
            event = get_event()
            raise _yaml_error(f"it refers to another part of itself (*{event.anchor}); write it out", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                raise _yaml_error("a key is no text; put it in quotes", key.start_mark)
            if key.value in keys:
                raise _yaml_error(f"the key {key.value} stands twice in one mapping; keep one", key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep)


def _yaml_error(problem: str, mark: yaml.Mark) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, mark)


_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)
"""Reads 1e3 as a number, as YAML 1.2 does; PyYAML follows YAML 1.1, in which it is a text."""
