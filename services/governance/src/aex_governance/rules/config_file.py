"""A YAML file that is one mapping, read strictly: what PyYAML would pass over in silence is refused."""

import re
from collections.abc import Hashable
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

_QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's takes a fifteenth of the time, and does not have to be there."""


class BadRuleConfig(ValueError):
    """The file of rules cannot be used; the message names what is wrong, where, and the fix."""


def read_mapping(path: Path) -> dict[Any, Any]:
    """The content; empty for an empty file. Raises `BadRuleConfig`, and `OSError` where it cannot be read."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Strict)  # noqa: S506 (derived from SafeLoader)
    except UnicodeDecodeError:
        raise BadRuleConfig(f"{path}: not UTF-8; save the file in that encoding") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise BadRuleConfig(f"{path}: {place}not readable as YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadRuleConfig(f"{path}: not readable as YAML: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise BadRuleConfig(f"{path}: expected a mapping of rule names, such as `self_dealing: {{enabled: false}}`")
    return content


def read_packaged(source: Traversable) -> Any:
    """The content of a file of our own, fast: in it nothing has to be explained to anybody."""
    return yaml.load(source.read_text(encoding="utf-8"), Loader=_QUICK)  # noqa: S506 (a safe loader, in C)


class _Strict(yaml.SafeLoader):
    """Refuses a key that stands twice in one mapping: which of the two is meant?"""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value} stands twice in one mapping; keep one", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_Strict.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)
"""YAML 1.2 reads 1e3 as the number that it is; PyYAML keeps to 1.1, where it is a word."""
