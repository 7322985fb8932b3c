"""Forms of prose in which a copy may appear."""

import re
from collections.abc import Callable
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
_KOREAN = (
    "어제 회의에서는 새 제품의 출시 날짜에 대해 오랫동안 이야기했다. 영업부는 다음 달에 내놓고 싶다고 "
    "했지만 개발부는 품질을 확인할 시간이 "
    "더 필요하다고 말했다. 결국 결정을 내리지 못했고 다음 주에 다시 만나기로 했다. 그때까지 각 부서는 "
    "비용을 계산하고 그 결과를 보고해야 "
    "한다. 모두가 이 일이 쉽지 않다는 것을 알고 있었지만 아무도 먼저 말하려고 하지 않았다. 회의가 끝난 "
    "뒤에 몇 사람은 남아서 점심을 먹으며 그 "
    "문제를 계속 이야기했다."
)
_CODES = tuple(code for code in LANGUAGES if code != "zh")


def bare(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s\u0900-\u0963]", " ", text).split())


def cut(text: str, mark: str) -> str:
    words = bare(text).split()
    return mark.join(" ".join(words[at : at + 3]) for at in range(0, len(words), 3))


def in_brackets(text: str) -> str:
    return " ".join(f"({word})" if at % 4 == 3 else word for at, word in enumerate(bare(text).split()))


def _long(code: str) -> str:
    return " ".join(PARAGRAPHS[code][:2])


_SHAPES: dict[str, Callable[[str], str]] = {"complete": str.strip, "bare": bare}

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
    **{f"complete, {code}": _long(code) for code in LANGUAGES},
    **{f"bare, {code}": bare(_long(code)) for code in LANGUAGES},
    **{f"cut by lines, {code}": cut(_long(code), "\n") for code in _CODES},
    **{
        f"cut by {name}": cut(PROSE, mark)
        for name, mark in {
            "lines": "\n",
            "commas": ", ",
            "semicolons": "; ",
            "bars": " | ",
            "tabs": "\t",
            "ends": ". ",
        }.items()
    },
    "a narrative cut by commas": cut(NARRATIVE, ", "),
    "words in parentheses": in_brackets(PROSE),
    "a full stop after each word": ". ".join(bare(PROSE).split()) + ".",
    "a comma after each word": ", ".join(bare(OTHER).split()),
    "Chinese": CHINESE,
    "Chinese, bare": bare(CHINESE),
    "Chinese, cut": "，".join(bare(CHINESE).replace(" ", "")[at : at + 3] for at in range(0, 99, 3)),
    **{f"{name} {form}": shape(text) for name, text in {"Korean": _KOREAN}.items() for form, shape in _SHAPES.items()},
}
