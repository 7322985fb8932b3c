"""Verdicts planted in a text: the reviewer's own keys, or an object that says nothing but that all is well.

Keys that only a review of this platform has (`outcome_verdict`, `scientific_validity`, …) count wherever they are given
a value of its vocabulary. Everyday keys (`verdict`, `score`, `success`) count where an object holds nothing but such
keys, at least two of them say "passed" or give the full score, and it is planted in a text: an answer that is itself an
object (a fact check, a grade that was asked for) is an answer, and code that returns one is code.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import re2

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
    r"(?:pass(?:ed)?|accept(?:ed)?|approved?|correct|valid|a\+|10/10|100%?|1\.0)\s{0,8}</",
)
_PAIR = rf"{_Q}([a-z][a-z_ ]{{1,40}}?){_Q}\s{{0,8}}[:=]\s{{0,8}}{_Q}([^,\n}}\"'\\]{{0,80}})"
_KEYS = frozenset(
    [
        "verdict",
        "final_verdict",
        "success",
        "passed",
        "pass",
        "score",
        "final_score",
        "total_score",
        "overall_score",
        "final_weighted_score",
        "weighted_score",
        "confidence",
        "recommendation",
        "decision",
        "valid",
        "is_valid",
        "accepted",
        "approved",
        "is_correct",
        "correct",
        "grade",
        "rating",
        "outcome",
        "result",
        "status",
        "reasoning",
        "reason",
        "explanation",
        "feedback",
        "comment",
        "comments",
        "issues",
        "errors",
        "action",
        "evaluation",
        "verified",
        "verification",
        "judgement",
        "judgment",
        "severity",
        "max_score",
        "violations",
        "mismatches",
        "flags",
        "risk_score",
        "final_status",
        "criteria_met",
        "overall",
        "points",
        "marks",
        "fraud",
    ]
)
_JUDGING = frozenset(
    [
        "verdict",
        "final_verdict",
        "success",
        "passed",
        "pass",
        "score",
        "final_score",
        "total_score",
        "overall_score",
        "final_weighted_score",
        "weighted_score",
        "recommendation",
        "decision",
        "valid",
        "is_valid",
        "accepted",
        "approved",
        "is_correct",
        "correct",
        "grade",
        "rating",
        "verified",
        "action",
        "evaluation",
        "judgement",
        "judgment",
        "final_status",
        "overall",
        "criteria_met",
        "result",
        "status",
        "outcome",
    ]
)
_PASSING = frozenset(
    [
        "true",
        "yes",
        "pass",
        "passed",
        "accept",
        "accepted",
        "approve",
        "approved",
        "correct",
        "valid",
        "success",
        "successful",
        "allow",
        "succeeded",
        "verified",
        "answers_question",
        "excellent",
        "perfect",
        "a+",
        "1",
        "1.0",
        "1.00",
        "10",
        "10.0",
        "100",
        "100.0",
        "10/10",
        "100%",
        "100/100",
        "5/5",
        "5",
        "full",
    ]
)
_LONGEST = 1_500
_CODE_BEFORE = ("return", "=", "(", ",", ":", "yield", "=>", "->", "[")
_DOCUMENTED = r"\b(?:api|endpoint|https?|curl|returns?|requests?|schema|function|method|json response|status code)\b"


def own_keys(text: str) -> Iterator[tuple[int, int]]:
    """Where a folded text gives values to the reviewer's own keys."""
    for found in _own().finditer(text):
        yield found.span()


def everyday_verdicts(text: str) -> Iterator[tuple[int, int]]:
    """Where an object in a folded text says nothing but that the work has passed."""
    whole = _is_whole(text)
    for found in _objects().finditer(text):
        start, end = found.span()
        inside = found.group()
        if len(inside) > _LONGEST:
            continue
        pairs = [(key.strip().replace(" ", "_"), value.strip()) for key, value in _pair().findall(inside)]
        passing = sum(key in _JUDGING and value in _PASSING for key, value in pairs)
        if any(key not in _KEYS for key, _ in pairs) or passing < (3 if whole and "\\" not in inside else 2):
            continue
        before = text[max(0, start - 300) : start]
        is_code = before.rstrip().endswith(_CODE_BEFORE) and not (whole or _tells(before))
        if not is_code and not _documented().search(before):
            yield start, end


def listed_verdicts(text: str) -> Iterator[tuple[int, int]]:
    """Where lines of a folded text say in a row that the work has passed: verdict, score and recommendation."""
    for found in _lines().finditer(text):
        pairs = [tuple(re2.split("[:=]", line, 1)) for line in found.group().split("\n") if line.strip()]
        told = [(pair[0].strip(" *->\"'`_").replace(" ", "_"), pair[1].strip(" *\"'`,")) for pair in pairs]
        if all(key in _KEYS for key, _ in told) and sum(k in _JUDGING and v in _PASSING for k, v in told) >= 3:
            yield found.span()


def _is_whole(text: str) -> bool:
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    return bare[:1] in {"{", "["} and bare[-1:] in {"}", "]"}


def _tells(before: str) -> bool:
    """Whether a colon before it ends a sentence of prose, not a key of code."""
    line = before.rstrip().rsplit("\n", 1)[-1]
    return line.endswith(":") and line.count(" ") > 0 and "=" not in line


@cache
def _own() -> Any:
    return re2.compile("|".join(f"(?:{key})" for key in _OWN))


@cache
def _objects() -> Any:
    return re2.compile(r"\{[^{}]+\}")


@cache
def _lines() -> Any:
    return re2.compile(r"(?m)(?:^[ \t>*\-\"']*[a-z][a-z_ ]{1,30}[*\"']{0,3} ?[:=][^\n:=]{1,60}(?:\n|\z)){3,12}")


@cache
def _pair() -> Any:
    return re2.compile(_PAIR)


@cache
def _documented() -> Any:
    return re2.compile(_DOCUMENTED)
