"""What a peer reviewer is asked: the packaged Markdown file, filled in once with fenced material."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from aex_outcomes.science.review.fence import Fence
from aex_outcomes.science.review.port import ReviewBrief
from aex_outcomes.science.review.sections import sections

MAX_CHARS = 60_000
"""Of material, unless told otherwise: about 15,000 tokens."""

_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_DIVIDE = "<!-- material -->"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One review, asked for."""

    instructions: str
    """For the system's message."""
    material: str
    """For the user's message: everything that is to be judged."""
    version: str
    """Of the packaged file."""


@dataclass(frozen=True, slots=True)
class Template:
    """The packaged file, in its parts."""

    version: str
    instructions: str
    material: str


def render(brief: ReviewBrief, nonce: str, max_chars: int = MAX_CHARS) -> Prompt:
    """The prompt for one candidate.

    `nonce`: at least 16 random letters and digits, new for each prompt; else `ValueError`. `max_chars` bounds what is
    filled in; the file's own text, the fences and the marks of what was cut come on top, and are the same for all.
    What is filled in is never looked at again: braces, dollar signs and placeholders in it stay as they are.
    """
    template = packaged_template()
    filled = {"nonce": nonce, **sections(brief, Fence(nonce), max_chars)}
    return Prompt(_filled(template.instructions, filled), _filled(template.material, filled), template.version)


@cache
def packaged_template() -> Template:
    """The packaged `prompt.md`. Its first line names its version."""
    text = (files(__package__) / "prompt.md").read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    instructions, _, material = rest.partition(_DIVIDE)
    return Template(first.removeprefix("version:").strip(), instructions.strip(), material.strip())


def _filled(template: str, values: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: values[place[1]], template)
