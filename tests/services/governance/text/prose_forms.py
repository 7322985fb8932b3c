"""Forms of prose in which a copy may appear."""

import re
from pathlib import Path

import yaml

from tests.services.governance.texts import CHINESE, OTHER, PROSE

_FILE = Path(__file__).with_name("prose.yaml")
PARAGRAPHS: dict[str, list[str]] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
LANGUAGES = tuple(PARAGRAPHS)
NARRATIVE = (
    "He woke up early. It was still dark. The house was cold. He lit the stove. The dog came in. It was "
    "wet. He gave it "
    "bread. Then he sat down. The clock struck six. No one else was up. He thought of her. She had left "
    "him. He did not "
    "know why. The snow fell again. He put on boots. The door would not open. He went back inside. There was no hurry."
)
POEM = """The river takes the evening down
past houses where the lamps are lit
and no one in the little town
will ask what has become of it

the boats lie still along the quay
the gulls have gone to find the sea
and I who came to watch the day
have no more light than it has me"""
FOX = "The quick brown fox jumps over the lazy dog. "
_CUT = tuple(code for code in LANGUAGES if code not in {"zh", "ja", "th", "ko"})


def bare(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s\u0900-\u0963\u0e00-\u0e7f]", " ", text).split())


def cut(text: str, mark: str) -> str:
    words = bare(text).split()
    return mark.join(" ".join(words[at : at + 3]) for at in range(0, len(words), 3))


def in_brackets(text: str) -> str:
    return " ".join(f"({word})" if at % 4 == 3 else word for at, word in enumerate(bare(text).split()))


def long_prose(code: str) -> str:
    return " ".join(PARAGRAPHS[code][:2])


FORMS: dict[str, str] = {
    "a poem": POEM,
    "short sentences": NARRATIVE,
    "one sentence eight times": FOX * 8,
    "templated sentences": " ".join(
        f"Section {at} of the report describes how the team reached its goal for quarter {at}." for at in range(1, 11)
    ),
    "numbered sentences": "\n".join(
        f"{at}. This is the sentence that stands at place {at} of the list." for at in range(1, 11)
    ),
    **{f"complete, {code}": long_prose(code) for code in LANGUAGES},
    **{f"bare, {code}": bare(long_prose(code)) for code in LANGUAGES},
    **{f"cut by lines, {code}": cut(long_prose(code), "\n") for code in _CUT},
    **{
        f"cut by {name}": cut(PROSE, mark)
        for name, mark in {"lines": "\n", "semicolons": "; ", "bars": " | ", "tabs": "\t", "ends": ". "}.items()
    },
    "a narrative cut by commas": cut(NARRATIVE, ", "),
    "words in parentheses": in_brackets(PROSE),
    "a full stop after each word": ". ".join(bare(PROSE).split()) + ".",
    "a comma after each word": ", ".join(bare(OTHER).split()),
    "Chinese": CHINESE,
    "Chinese, bare": bare(CHINESE),
    "Chinese, cut": "，".join(bare(CHINESE).replace(" ", "")[at : at + 3] for at in range(0, 99, 3)),
}
