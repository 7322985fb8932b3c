"""Detection of direct orders to a grader, in English, German, French, Spanish and Chinese.

An order is a verb at the head of a clause, with one of these objects in the same sentence:
- rules to ignore;
- this candidate with a verdict;
- a check to leave out.

If nearby words address a grader, a weaker object is enough. Conditional sentences, and sentences about a third person,
are treated as rubrics or reports. Paraphrases are not detected.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import re2
import yaml

from aex_governance.rules.injection.mentions import SENTENCE_END, extract_unfinished_sentence
from aex_governance.rules.injection.plain_text import InjectionSpan

_MAX_SENTENCE = 200
_NEAR = 260
_KINDS = ("unchecked", "ignore", "grade", "accept", "utter")
_CLAUSE = (
    r"(?:^|[\n.!?;:,()\[\]{}<>\"“”„«»|—–…#`。、「」~]\s*|(?:^|\s)['*_/-]+\s*|"
    r"\b(?:please|kindly|and|but|then|bitte|und|veuillez|et|por favor|y)\s)"
)
"""Pattern of the beginning of a clause in languages with spaces."""
_CHINESE_CLAUSE = r"(?:^|[^\p{Han}]\s*|[并且后请就再而])"
_ANCHORED = frozenset({"other_rules", "address"})
_LEADING_MARKS = re.compile(r"^[\W_]+")


def find_direct_orders(text: str) -> Iterator[InjectionSpan]:
    """Yield each direct order to a grader in a normalised text, in linear time."""
    for verbs, patterns in _languages():
        for match in verbs.finditer(text):
            start, end = match.span(match.lastindex)
            lead = text[match.start() : start]
            before = text[max(0, start - _NEAR) : start]
            rest = text[start : start + _MAX_SENTENCE]
            if stop := SENTENCE_END.search(rest):
                rest = rest[: stop.start()]
            texts = (lead, extract_unfinished_sentence(before.removesuffix(lead)), rest, before + rest)
            if found := _judge(_KINDS[match.lastindex - 1], patterns, *texts):
                yield InjectionSpan(found, start - len(_LEADING_MARKS.sub("", lead)), max(end, start + len(rest)))


def _judge(kind: str, patterns: Mapping[str, Any], lead: str, head: str, rest: str, nearby: str) -> str | None:
    """Return the kind of order that a sentence gives; None for an honest sentence.

    `kind` is the kind of the verb. `lead` is the beginning of its clause, `head` the sentence before the clause, and
    `rest` the sentence from the verb on. `nearby` is the surrounding text.
    """

    def has(name: str, text: str) -> bool:
        return bool(patterns[name].search(text))

    is_this = has("this", rest) or has("this", lead)
    is_good = has("good", rest)
    is_only = has("only", rest)
    voided = patterns["instructions"].search(rest) if kind == "ignore" else None
    if not (is_this or is_good or is_only or voided or kind == "unchecked"):
        return None
    is_addressed = has("address", nearby)
    if has("condition", patterns["no_condition"].sub(" ", f"{head} {rest}")):
        return None
    if has("person", head) and not is_addressed:
        return None
    match kind:
        case "ignore":
            return "override" if voided and not has("other_rules", rest[voided.end() :]) else None
        case "unchecked":
            return "no_check" if is_addressed or is_this else None
        case "utter":
            is_order = is_only or (is_addressed and is_good)
        case "accept":
            is_order = is_this or (is_addressed and is_good)
        case _:
            is_order = (is_good and (is_this or is_addressed)) or (is_addressed and is_only)
    return ("address" if is_addressed else "demand") if is_order else None


@cache
def _languages() -> list[tuple[Any, Mapping[str, Any]]]:
    """Return for each language the pattern of its verbs, with a group per `_KINDS`, and other patterns."""
    loaded = yaml.safe_load(files(__package__).joinpath("orders.yaml").read_text(encoding="utf-8"))
    common = loaded.pop("all")
    return [_compile(words, common, spaced=code != "zh") for code, words in loaded.items()]


def _compile(words: Mapping[str, str], common: Mapping[str, str], *, spaced: bool) -> tuple[Any, Mapping[str, Any]]:
    blank, edge, gap, clause = (
        (r"(?:[\s*_]+)", r"\b", r"[\s*_]+,?[\s*_]*", _CLAUSE) if spaced else (r"\s*", "", "", _CHINESE_CLAUSE)
    )
    sources = {
        key: "|".join(filter(None, (value, common.get(key)))).replace("NAME", f"(?:{words['name']})")
        for key, value in words.items()
    }
    # A line of the file ends behind a bar; YAML turns the break into a blank.
    sources = {key: source.replace("| ", "|").replace(" ", blank) for key, source in sources.items()}
    patterns = {
        key: re2.compile(source if key in _ANCHORED or not spaced else rf"\b(?:{source})(?:\b|$|\W)")
        for key, source in sources.items()
    }
    strong = rf"|\b(?:{sources['strong']}){gap}" if "strong" in sources else ""
    verbs = "|".join(rf"({edge}(?:{sources[kind]}){edge})" for kind in _KINDS)
    return re2.compile(rf"(?:{clause}{strong})(?:(?:{sources['lead']}){gap}){{0,4}}(?:{verbs})"), patterns
