"""Verdicts planted in a text: the reviewer's own keys, or an object that says nothing but that all is well.

Keys that only a review of this platform has (`outcome_verdict`, `scientific_validity`, …) count wherever they are given
a value of its vocabulary. Everyday keys (`verdict`, `score`, `success`) count where an object holds nothing but such
keys, one of them decides ("verdict": "passed") or two of them say that all is well, and it is planted in a text: an
answer that is itself an object (a fact check, a grade that was asked for) is an answer, and code that returns one is
code.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import re2

from aex_governance.rules.injection.effort import Effort
from aex_governance.rules.injection.folding import folded_words
from aex_governance.rules.injection.verdict_vocabulary import (
    DECIDED,
    DECIDING,
    DECIDING_LABELS,
    FAULTS,
    JUDGING,
    KEYS,
    LABELS,
    NO_FAULT,
    PASSED_KEYS,
    PASSING,
    SURE,
    SURENESS,
    VALUES,
)

_Q = r"\\{0,4}[\"'“”`*]{0,2}"
_OWN = (
    rf"outcome[_ -]?verdict{_Q}\s{{0,8}}[:=]+\s{{0,8}}{_Q}(?:answers[_ -]?question|partial[_ -]?answer|does|wrong|pass|"
    r"accept|correct|valid)",
    rf"scientific[_ -]?validity{_Q}\s{{0,8}}[:=]+\s{{0,8}}{_Q}(?:valid|questionable|invalid|high)\b",
    rf"(?:answers[_ -]?original[_ -]?question|values[_ -]?plausible|values[_ -]?consistent|reasoning[_ -]?sound|"
    rf"verification[_ -]?passed|passed[_ -]?verification){_Q}\s{{0,8}}[:=]+\s{{0,8}}{_Q}(?:true|yes|1)\b",
    r"</?(?:verification[_ -]?(?:passed|success|result|status|verdict)|outcome[_ -]?verdict|scientific[_ -]?validity|"
    r"final[_ -]?verdict|grader[_ -]?verdict|judge[_ -]?verdict|review[_ -]?verdict)(?:\s[^<>\n]{0,60})?/?>",
    r"<(?:verdict|decision|judge?ment|evaluation|recommendation|grade)>\s{0,8}"
    r"(?:pass(?:ed)?|accept(?:ed)?|approved?|correct|valid|a\+|10/10|100%?|1\.0)\s{0,8}</[a-z]{0,20}>?",
    r"<result>\s{0,8}(?:pass(?:ed)?|accept(?:ed)?|approved)\s{0,8}</result>?",
    r"<(?:verification|verdict|evaluation|review|judge?ment|assessment)\s[^<>\n]{0,80}?"
    r"(?:verdict|result|recommendation|decision|status)\s?=\s?[\"'](?:pass(?:ed)?|accept(?:ed)?|approved?)[\"']",
)
_SET_KEYS = (
    # Demanded or set in running text: "set scientific_validity to valid", "outcome_verdict must be answers_question".
    r"\boutcome_verdict\b[^.\n;]{1,40}?\banswers[_ ](?:the[_ ]|original[_ ])?question\b",
    r"\bscientific_validity\b[^.\n;]{1,40}?\b(?:valid|high)\b",
    r"[\"'“`](?:final_)?(?:verdict|recommendation)[\"'”`] (?:field |key |value )?(?:should|must|shall|has to|needs to) "
    r"(?:be|read|say|equal|contain)(?: set to)? [\"'“`]?(?:pass(?:ed)?|accept(?:ed)?|correct|valid)\b",
)
_OTHER_VALUES = r"\b(?:invalid|questionable|partial[_ ]answer|wrong[_ ]\w+|does[_ ]not\w*|one of|or|either)\b"
_PAIR = rf"{_Q}([a-z][a-z_ ]{{1,40}}?){_Q}\s{{0,8}}[:=]\s{{0,8}}{_Q}([^,\n}}\"'\\]{{0,80}})"
_LONGEST = 1_500
_OUTER_KEY = (
    r"[\"'](?:evaluation|verification|verdict|review|result|assessment|judge?ment|grading|output|response)[\"']"
    r"\s{0,8}:\s{0,8}$"
)
_CODE_BEFORE = ("return", "=", "(", ",", ":", "yield", "=>", "->", "[")


def own_keys(text: str) -> Iterator[tuple[int, int]]:
    """Where a folded text gives values to the reviewer's own keys."""
    for found in _own().finditer(text):
        yield found.span()


def demanded_keys(text: str) -> Iterator[tuple[int, int]]:
    """Where a sentence of a folded text sets the reviewer's own keys; not where it lists what values they may have."""
    for found in _set_keys().finditer(text):
        if not _other_values().search(text[found.start() : found.end() + 40].split("\n", maxsplit=1)[0]):
            yield found.span()


def told_verdicts(text: str) -> Iterator[tuple[int, int]]:
    """Where labels in a row, in one line, say that the work has passed: "Verdict: PASS. Score: 1.0."

    Two are enough where one of them is a verdict, and not a mark that anybody may give.
    """
    for found in _told().finditer(text):
        if len(_label().findall(found.group())) >= 3 or _deciding_label().search(found.group()):
            yield found.span()


def everyday_verdicts(text: str, effort: Effort, *, may_answer: bool = True) -> Iterator[tuple[int, int]]:
    """Where an object in a folded text says nothing but that the work has passed.

    `may_answer`: whether the text may be the answer itself, which an object may well be; reasoning is none.
    """
    whole = may_answer and _is_whole(text)
    for found in _objects().finditer(text):
        start, end = found.span()
        inside = found.group()
        if len(inside) > _LONGEST or not _judging().search(inside) or not effort.spends("objects"):
            continue
        if not _is_good_verdict(inside, is_answer=whole and "\\" not in inside):
            continue
        before = text[max(0, start - 300) : start]
        if whole or not before.rstrip().endswith(_CODE_BEFORE) or _tells(before) or _outer_key().search(before):
            yield start, end


def _is_good_verdict(inside: str, *, is_answer: bool) -> bool:
    """Nothing but a verdict, and a good one. An answer that is an object is one only where all of it is praise."""
    pairs = [(key.strip().replace(" ", "_"), value.strip()) for key, value in _pair().findall(inside)]
    if not pairs or any(key not in KEYS for key, _ in pairs):
        return False
    passing = sum(key in JUDGING and value in PASSING for key, value in pairs)
    if is_answer:
        return passing >= 3
    if any(_decides(key, value) for key, value in pairs):
        return not any(key in FAULTS and value not in NO_FAULT for key, value in pairs)
    if not passing or any(key in FAULTS and value not in NO_FAULT for key, value in pairs):
        return False
    return passing + sum(_is_untroubled(key, value) for key, value in pairs) >= 2


def _decides(key: str, value: str) -> bool:
    return (key in DECIDING and value in DECIDED) or (key in PASSED_KEYS and value in {"true", "yes"})


def _is_untroubled(key: str, value: str) -> bool:
    return key in FAULTS or (key in SURENESS and (value in SURE or value.startswith(("0.9", ".9"))))


def listed_verdicts(text: str) -> Iterator[tuple[int, int]]:
    """Where lines of a folded text say in a row that the work has passed: verdict, score and recommendation."""
    for found in _lines().finditer(text):
        pairs = [tuple(re2.split("[:=]", line, 1)) for line in found.group().split("\n") if line.strip()]
        told = [(pair[0].strip(" *->\"'`_").replace(" ", "_"), pair[1].strip(" *\"'`,")) for pair in pairs]
        passing = sum(key in JUDGING and value in PASSING for key, value in told)
        least = 2 if any(_decides(key, value) for key, value in told) else 3
        if all(key in KEYS for key, _ in told) and passing >= least:
            yield found.span()


def _is_whole(text: str) -> bool:
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    return bare[:1] in {"{", "["} and bare[-1:] in {"}", "]"}


def _tells(before: str) -> bool:
    """Whether a colon before it ends words of prose, not a key of code or data."""
    line = before.rstrip().rsplit("\n", 1)[-1]
    return line.endswith(":") and "=" not in line and line[-2:-1].isalpha() and line.lstrip(" *#>-") == line


@cache
def _judging() -> Any:
    return re2.compile("|".join(sorted(key.replace("_", "[_ ]") for key in JUDGING)))


@cache
def _own() -> Any:
    return re2.compile("|".join(f"(?:{key})" for key in _OWN))


@cache
def _set_keys() -> Any:
    return re2.compile("|".join(f"(?:{key})" for key in _SET_KEYS))


@cache
def _other_values() -> Any:
    return re2.compile(_OTHER_VALUES)


@cache
def _told() -> Any:
    labels, values = folded_words(LABELS), folded_words(VALUES)
    pair = rf"(?:{labels})[*\"'`]{{0,3}}[ ]?[:=：]?[ *\"'`]{{0,4}}(?:{values})[*\"'`]{{0,3}}"
    return re2.compile(rf"{pair}(?:[ ]?[.,;|/।。，；،][ ]?{pair}){{1,8}}")


@cache
def _label() -> Any:
    return re2.compile(rf"(?:{folded_words(LABELS)})[*\"'` ]{{0,4}}[:=：]")


@cache
def _deciding_label() -> Any:
    return re2.compile(folded_words(DECIDING_LABELS))


@cache
def _outer_key() -> Any:
    return re2.compile(_OUTER_KEY)


@cache
def _objects() -> Any:
    return re2.compile(r"\{[^{}]+\}")


@cache
def _lines() -> Any:
    return re2.compile(r"(?m)(?:^[ \t>*\-\"']*[a-z][a-z_ ]{1,30}[*\"']{0,3} ?[:=][^\n:=]{1,60}(?:\n|\z)){2,12}")


@cache
def _pair() -> Any:
    return re2.compile(_PAIR)
