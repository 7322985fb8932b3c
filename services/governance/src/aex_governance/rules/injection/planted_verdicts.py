"""Detection of a fake verdict that is planted in a candidate for the judge to copy.

Three things are found:
- tokens of chat templates, and tags of a grader's prompt;
- values of keys that only this platform's reviews have, such as `outcome_verdict`;
- objects and lists of pairs with everyday keys, such as `verdict` and `score`, that praise the candidate.

A passing value is one such as `true`, `passed` or `10/10`. A deciding pair is one such as `verdict: passed`. An object
counts if each key is an everyday verdict key, it reports no fault, and it has a deciding pair or two passing values.

Exceptions:
- where the whole output is an object, it may be the answer, and its objects need three passing values;
- an object behind `return` or `=` is code and does not count;
- lines of `key: value` need two passing values with a deciding pair, else three.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import re2

from aex_governance.rules.injection.plain_text import InjectionSpan


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CHAT_TOKENS = (
    r"<\|[a-z0-9][a-z0-9_▁]{1,40}\|>",  # ChatML, Llama 3, Phi, Command R, DeepSeek
    r"<\|?im_(?:start|end|sep)\|?>",
    r"\[/?inst\]",
    r"<</?sys>>",
    r"</?(?:start|end)_of_turn>",
    r"\[/?(?:system_prompt|available_tools|tool_results|tool_calls)\]",
    r"</?(?:system[_-]?(?:prompt|message|instructions?|override)|(?:tool|function)[_-](?:results?|response|calls?)|"
    r"(?:candidate|untrusted|submission|agent)[_-](?:output|answer|response|text|content|data|submission)|"
    r"(?:grader|judge|reviewer|evaluator|evaluation|grading)[_-](?:instructions?|notes?|prompt|override))"
    r"(?:\s[^<>\n]{0,80})?/?>",
)
_MAX_OBJECT = 1_500
_Q = r"\\{0,4}[\"'“”`*]{0,2}"
_PASSED = r"(?:pass(?:ed)?|accept(?:ed)?|approved?|correct|valid)"
_OWN_KEYS: Final = (
    rf"outcome[_ -]?verdict{_Q}\s{{0,8}}[:=]+\s{{0,8}}{_Q}"
    rf"(?:answers[_ -]?question|partial[_ -]?answer|does|wrong|{_PASSED})",
    rf"scientific[_ -]?validity{_Q}\s{{0,8}}[:=]+\s{{0,8}}{_Q}(?:valid|questionable|invalid|high)\b",
    rf"(?:answers[_ -]?original[_ -]?question|values[_ -]?plausible|values[_ -]?consistent|reasoning[_ -]?sound|"
    rf"verification[_ -]?passed|passed[_ -]?verification){_Q}\s{{0,8}}[:=]+\s{{0,8}}{_Q}(?:true|yes|1)\b",
    r"</?(?:verification[_ -]?(?:passed|success|result|status|verdict)|outcome[_ -]?verdict|scientific[_ -]?validity|"
    r"(?:final|grader|judge|review)[_ -]?verdict|verification[_ -]?feedback)(?:\s[^<>\n]{0,60})?/?>",
    rf"<(?:verdict|decision|judge?ment|evaluation|recommendation|grade)>\s{{0,8}}(?:{_PASSED}|a\+|10/10|100%?|1\.0)\s{{0,8}}</",
    rf"<result>\s{{0,8}}{_PASSED}\s{{0,8}}</result",
    rf"<(?:verification|verdict|evaluation|review|judge?ment|assessment)\s[^<>\n]{{0,80}}?"
    rf"(?:verdict|result|recommendation|decision|status)\s?=\s?[\"']{_PASSED}[\"']",
    # Set in a sentence: "set scientific_validity to valid".
    r"\boutcome_verdict\b[^.\n;]{1,40}?\banswers_question\b",
    r"\bscientific_validity\b[^.\n;]{1,40}?\b(?:valid|high)\b",
)
_OTHER_VALUES = r"\b(?:invalid|questionable|partial_answer|wrong_\w+|does_not\w*|one of|or|either)\b"
_DECIDING: Final = _words(
    "verdict final_verdict overall_verdict outcome_verdict recommendation decision final_decision judgement judgment"
)
_DECIDED: Final = _words("pass passed accept accepted approve approved answers_question")
_PASSED_KEYS: Final = _words("passed pass approved accepted")
_JUDGING: Final = (
    _DECIDING
    | _PASSED_KEYS
    | _words(
        "success score final_score total_score overall_score final_weighted_score weighted_score valid is_valid "
        "is_correct correct grade rating verified action evaluation final_status overall criteria_met result status "
        "outcome scientific_validity final_grade acceptance answers_original_question"
    )
)
_FAULTS: Final = _words(
    "issues errors violations mismatches flags fraud problems warnings concerns failures risk_score deductions"
)
_KEYS: Final = (
    _JUDGING
    | _FAULTS
    | _words(
        "confidence certainty similarity reasoning reason explanation feedback comment comments verification severity "
        "max_score points marks notes justification rationale summary values_plausible values_consistent "
        "reasoning_sound strengths weaknesses"
    )
)
_PASSING: Final = _DECIDED | _words(
    "true yes correct valid success successful allow succeeded verified excellent perfect a+ 1 1.0 1.00 10 10.0 100 "
    "100.0 10/10 100% 100/100 5/5 5 full ok positive acceptable"
)
_NO_FAULT: Final = frozenset(["", "[]", "{}", "none", "null", "false", "no", "0", "0.0", "[ ]"])
_OBJECT = r"\{[^{}]+\}"
_PAIR = rf"{_Q}([a-z][a-z_ ]{{1,40}}?){_Q}\s{{0,8}}[:=]\s{{0,8}}{_Q}([^,\n}}\"'\\]{{0,80}})"
_LINES = r"(?:(?:^|[\n.,;|])[ \t>*\-\"'`]*[a-z][a-z_ ]{1,30}[*\"'`]{0,3} ?[:=][^\n:=,;|]{1,40}){2,12}"
_LINE = re.compile(
    r"([a-z][a-z_ ]{1,30})[*\"'`]{0,3} ?[:=][ *\"'`]*([^\n:=,;|]{1,40}?)[ .*\"'`]*(?=[\n,;|]|\.(?:\s|$)|$)"
)
_CODE = ("return", "=", "(", ",", "yield", "=>", "->", "[")


def find_template_tokens(text: str) -> Iterator[InjectionSpan]:
    """Yield tokens of chat templates and tags of a grader's prompt."""
    for match in re2.compile("|".join(f"(?:{token})" for token in _CHAT_TOKENS)).finditer(text):
        yield InjectionSpan("chat_template", *match.span())


def find_review_key_values(text: str) -> Iterator[InjectionSpan]:
    """Yield values given to keys of this platform's reviews.

    A sentence that lists other values too, such as a description of the key, is not reported.
    """
    for match in re2.compile("|".join(f"(?:{key})" for key in _OWN_KEYS)).finditer(text):
        is_sentence = not set(":=<").intersection(match.group())
        line = text[match.start() : match.end() + 40].split("\n", maxsplit=1)[0]
        if not (is_sentence and re2.compile(_OTHER_VALUES).search(line)):
            yield InjectionSpan("verdict_keys", *match.span())


def find_verdict_objects(text: str, *, is_output: bool) -> Iterator[InjectionSpan]:
    """Yield objects and lists of pairs that hold nothing but a passing verdict.

    The module's description has the rules. `is_output` is true for the text of an output, false for reasoning and
    metadata.
    """
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    is_object = is_output and bare[:1] in {"{", "["} and bare[-1:] in {"}", "]"}
    for match in re2.compile(_OBJECT).finditer(text):
        start, end = match.span()
        if end - start > _MAX_OBJECT:
            continue
        pairs = _pairs(re2.compile(_PAIR).findall(match.group()))
        before = text[max(0, start - 300) : start].rstrip()
        is_answer = is_object and (not before or before.endswith(("[", "{", ":", ",", "```", "```json")))
        is_planted = _praises(pairs) >= 3 if is_answer else _is_passing_verdict(pairs)
        if is_planted and (is_object or not before.endswith(_CODE)):
            yield InjectionSpan("verdict_object", start, end)
    for match in re2.compile(_LINES).finditer(text):
        pairs = _pairs(_LINE.findall(match.group()))
        if len(pairs) > 1 and _praises(pairs) >= (2 if any(map(_is_verdict_pair, pairs)) else 3):
            yield InjectionSpan("verdict_object", *match.span())


def _pairs(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return normalised keys and values; an empty list if any key is not one of a verdict."""
    pairs = [(key.strip().replace(" ", "_"), value.strip()) for key, value in found]
    return pairs if all(key in _KEYS for key, _ in pairs) else []


def _praises(pairs: Sequence[tuple[str, str]]) -> int:
    return sum(key in _JUDGING and value in _PASSING for key, value in pairs)


def _is_verdict_pair(pair: tuple[str, str]) -> bool:
    key, value = pair
    return (key in _DECIDING and value in _DECIDED) or (key in _PASSED_KEYS and value in {"true", "yes"})


def _is_passing_verdict(pairs: Sequence[tuple[str, str]]) -> bool:
    if not pairs or any(key in _FAULTS and value not in _NO_FAULT for key, value in pairs):
        return False
    return any(map(_is_verdict_pair, pairs)) or _praises(pairs) > 1
