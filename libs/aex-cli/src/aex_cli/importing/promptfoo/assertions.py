"""Translation of single promptfoo assertions.

An assertion's value is a template over the test's variables. Its type may begin with `not-`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from aex_cli.importing.checks import Check, NotTranslatable, make_code_check, make_pattern_check, make_schema_check
from aex_cli.importing.json_code import build_is_json_code, build_schema_code, parse_schema
from aex_cli.importing.literal_patterns import (
    build_caseless_pattern,
    build_equality_pattern,
    build_literal_pattern,
    build_terms_pattern,
)
from aex_cli.importing.promptfoo.values import AssertionValue, read_bounds
from aex_cli.importing.regex_writer import translate_regex
from aex_cli.importing.sandbox_code import (
    build_assertion_code,
    build_levenshtein_code,
    build_word_count_code,
)
from aex_models.numbers import is_finite_number

NEGATION = "not-"
_KNOWN_FIELDS = frozenset({"type", "value", "threshold", "weight", "metric", "provider", "rubricPrompt"})
_BY_MODEL = frozenset(
    {
        "agent-rubric", "answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance",
        "conversation-relevance", "factuality", "g-eval", "llm-rubric", "model-graded-closedqa",
        "model-graded-factuality", "moderation", "pi", "search-rubric", "select-best", "similar", "similar:cosine",
        "similar:dot", "similar:euclidean", "trajectory:goal-success",
    }
)  # fmt: skip
_OTHER_FORMULA = frozenset({"bleu", "gleu", "meteor", "rouge-n", "rouge-l", "rouge-s"})
_OWN_PARSER = frozenset(
    {"contains-html", "contains-json", "contains-sql", "contains-xml", "is-html", "is-sql", "is-xml"}
)
_NO_DATA: Mapping[str, str] = {
    "cost": "what a provider charges is unknown here: the work's budget bounds the price",
    "perplexity": "agents deliver no probabilities of tokens",
    "perplexity-score": "agents deliver no probabilities of tokens",
    "javascript": "code in JavaScript is not translated: write a custom metric in Python",
    "ruby": "code in Ruby is not translated: write a custom metric in Python",
    "webhook": "verification opens no connections: write a custom metric in Python",
}
_DEFAULT_DISTANCE = 5


def translate_assertion(assertion: Mapping[str, Any], variables: Mapping[str, Any]) -> Check:
    """Return an assertion as a check, filled with a test's variables.

    `assertion`: an object with a type. Raises `NotTranslatable`.
    """
    full_type = assertion["type"]
    negated = full_type.startswith(NEGATION)
    kind = full_type.removeprefix(NEGATION)
    _require_translatable(kind, assertion)
    translate = _TRANSLATIONS.get(kind)
    if translate is None:
        raise NotTranslatable("unsupported", f"{full_type}: not a type of assertion that has a translation")
    check = translate(AssertionValue(assertion, variables, negated))
    return replace(check, name=full_type, weight=_read_weight(assertion))


def _require_translatable(kind: str, assertion: Mapping[str, Any]) -> None:
    """Raise `NotTranslatable` for types without counterpart, and for fields that change what is asserted."""
    if kind in _BY_MODEL or kind.startswith("promptfoo:"):
        raise NotTranslatable("needs_model", f"{kind}: a model gives this score")
    if kind in _OTHER_FORMULA:
        raise NotTranslatable("unsupported", f"{kind}: promptfoo's formula gives other figures than any metric here")
    if kind in _OWN_PARSER:
        raise NotTranslatable("unsupported", f"{kind}: promptfoo's own parser decides; no metric here is equal to it")
    if kind in _NO_DATA:
        raise NotTranslatable("unsupported", f"{kind}: {_NO_DATA[kind]}")
    unknown = sorted(set(assertion) - _KNOWN_FIELDS)
    if unknown:
        raise NotTranslatable("unsupported", f"{kind}: the field {unknown[0]} changes what is asserted")


def _read_weight(assertion: Mapping[str, Any]) -> float:
    weight = assertion.get("weight", 1)
    if not is_finite_number(weight) or weight < 0:
        raise NotTranslatable("weight", "the weight is no number of 0 or more")
    if weight == 0:
        raise NotTranslatable("weight", "weight 0: it reports a figure and never decides, so there is no criterion")
    return float(weight)


def _equals(value: AssertionValue) -> Check:
    if isinstance(value.value, dict | list):
        why = "equals: it compares the output as JSON: let the agent deliver JSON, and use output_schema with const"
        raise NotTranslatable("value", why)
    if value.value == "":
        return make_pattern_check("", build_equality_pattern(""), negated=value.negated)
    return make_pattern_check("", build_equality_pattern(value.require_text(accept_number=True)), negated=value.negated)


def _contains(value: AssertionValue) -> Check:
    return make_pattern_check("", build_terms_pattern([value.require_text(accept_number=True)]), negated=value.negated)


def _icontains(value: AssertionValue) -> Check:
    return make_pattern_check(
        "", build_terms_pattern([value.require_text(accept_number=True)], ignore_case=True), negated=value.negated
    )


def _contains_any(value: AssertionValue) -> Check:
    return make_pattern_check("", build_terms_pattern(value.list_terms()), negated=value.negated)


def _icontains_any(value: AssertionValue) -> Check:
    return make_pattern_check("", build_terms_pattern(value.list_terms(), ignore_case=True), negated=value.negated)


def _contains_all(value: AssertionValue) -> Check:
    return _all_of([build_literal_pattern(each) for each in value.list_terms()], negated=value.negated)


def _icontains_all(value: AssertionValue) -> Check:
    return _all_of([build_caseless_pattern(each) for each in value.list_terms()], negated=value.negated)


def _all_of(patterns: Sequence[str], *, negated: bool) -> Check:
    """Return a check that a text has matches of all patterns; a schema, because RE2 has no conjunction."""
    if len(patterns) == 1:
        return make_pattern_check("", patterns[0] or r"\A", negated=negated)
    every = {"allOf": [{"pattern": each} for each in patterns]}
    return make_schema_check("", {"type": "string", **({"not": every} if negated else every)})


def _starts_with(value: AssertionValue) -> Check:
    return make_pattern_check("", rf"\A{build_literal_pattern(value.require_text())}", negated=value.negated)


def _ends_with(value: AssertionValue) -> Check:
    return make_pattern_check("", rf"{build_literal_pattern(value.require_text())}\z", negated=value.negated)


def _regex(value: AssertionValue) -> Check:
    return make_pattern_check("", translate_regex(value.require_text()), negated=value.negated)


def _is_json(value: AssertionValue) -> Check:
    if value.value in (None, ""):
        return make_code_check("", build_is_json_code(negated=value.negated))
    schema = parse_schema(value.require_text()) if isinstance(value.value, str) else value.value
    return make_code_check("", build_schema_code(schema, negated=value.negated))


def _latency(value: AssertionValue) -> Check:
    if not is_finite_number(value.threshold) or value.threshold < 0:
        raise NotTranslatable("threshold", "latency: it has no threshold of 0 ms or more")
    comparison = "gt" if value.negated else "lte"
    return Check("", "platform_latency_ms", "latency", comparison, value.threshold)


def _levenshtein(value: AssertionValue) -> Check:
    if value.negated:
        raise NotTranslatable("unsupported", "not-levenshtein: versions of promptfoo differ in whether they negate it")
    threshold = _DEFAULT_DISTANCE if value.threshold is None else value.threshold
    if not is_finite_number(threshold) or threshold <= 0:
        raise NotTranslatable("threshold", "levenshtein: versions of promptfoo differ on a threshold of 0 or less")
    expected = value.fill(value.value) if isinstance(value.value, str) else value.require_text()
    return make_code_check("", build_levenshtein_code(expected, int(threshold)))


def _word_count(value: AssertionValue) -> Check:
    low, high = read_bounds(value)
    return make_code_check("", build_word_count_code(low, high, negated=value.negated))


def _character_count(value: AssertionValue) -> Check:
    low, high = read_bounds(value)
    if value.negated and low != high:
        if low is not None and high is not None:
            raise NotTranslatable("threshold", "not-character-count: outside a range there is no single comparison")
        limit, comparison = (low, "lt") if low is not None else (high, "gt")
        return Check("", "output_length", "count", comparison, limit)
    if low == high:
        return Check("", "output_length", "count", "neq" if value.negated else "eq", low)
    bounds = {"min": low, "max": high}
    return Check(
        "", "output_length", "count", "in_range", {key: each for key, each in bounds.items() if each is not None}
    )


def _python(value: AssertionValue) -> Check:
    if value.threshold is not None and not is_finite_number(value.threshold):
        raise NotTranslatable("threshold", "python: its threshold is no number")
    code = build_assertion_code(value.require_text(), value.variables, value.threshold, negated=value.negated)
    return make_code_check("", code)


_TRANSLATIONS: Mapping[str, Callable[[AssertionValue], Check]] = {
    "equals": _equals,
    "contains": _contains,
    "icontains": _icontains,
    "contains-any": _contains_any,
    "icontains-any": _icontains_any,
    "contains-all": _contains_all,
    "icontains-all": _icontains_all,
    "starts-with": _starts_with,
    "ends-with": _ends_with,
    "regex": _regex,
    "is-json": _is_json,
    "latency": _latency,
    "levenshtein": _levenshtein,
    "word-count": _word_count,
    "character-count": _character_count,
    "python": _python,
}
KNOWN_TYPES = frozenset(
    {*_TRANSLATIONS, *_BY_MODEL, *_OTHER_FORMULA, *_OWN_PARSER, *_NO_DATA, "guardrails", "bertscore"}
)
"""Types of assertions that promptfoo has in some version, without `not-`."""
