"""YAML that says nothing twice and refers to nothing: what PyYAML would pass over in silence is refused."""

import re
from collections.abc import Callable, Hashable
from typing import Any

import yaml


class NotReadable(ValueError):
    """The text is no YAML that is taken here; the message says where, and what to do."""


def parse(text: str) -> Any:
    """The value of the one document in the text. Raises `NotReadable`."""
    try:
        return yaml.load(text, Loader=_Strict)  # noqa: S506 (derived from SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        told = ", ".join(each for each in (error.context, error.problem) if each)
        raise NotReadable(f"not readable as YAML: {told}{place}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise NotReadable(f"not readable as YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise NotReadable("not readable as YAML: nested too deep") from None


class _Strict(yaml.SafeLoader):
    """Refuses keys that stand twice in one mapping or are no text, and parts that refer to others."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            take: Callable[[], Any] = self.get_event
            event = take()
            raise _refused(f"it refers to another part of itself (*{event.anchor}); write it out", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                raise _refused("a key is no text; put it in quotes", key.start_mark)
            if key.value in seen:
                raise _refused(f"the key {key.value} stands twice in one mapping; keep one", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _refused(problem: str, mark: yaml.Mark) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, mark)


_Strict.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)
"""YAML 1.2 reads 1e3 as the number that it is; PyYAML keeps to 1.1, where it is a word."""
