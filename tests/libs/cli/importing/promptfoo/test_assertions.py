"""Promptfoo's assertions as checks. The expected verdicts are those of promptfoo on the same texts."""

from typing import Any

import pytest

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.promptfoo.assertions import translate_assertion
from aex_models.results import Verdict
from tests.libs.cli.importing.grading import body_of, passes, verdict

VARIABLES = {"answer": "Paris", "n": 3, "list": ["a"], "code": "{{answer}}"}
GRADED: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"type": "equals", "value": "{{answer}}"}, ["Paris"], ["paris", "Paris\n", " Paris", ""]),
    ({"type": "equals", "value": 5}, ["5"], ["5.0", "05"]),
    ({"type": "equals", "value": ""}, [""], [" "]),
    ({"type": "not-equals", "value": "a.c"}, ["abc", "", "a.c\n"], ["a.c"]),
    ({"type": "contains", "value": "a.c"}, ["xa.cx"], ["abc", "A.C"]),
    ({"type": "contains", "value": 0}, ["10"], ["1"]),
    ({"type": "not-contains", "value": "As an AI"}, ["as an ai", ""], ["Well, As an AI"]),
    ({"type": "icontains", "value": "Kelvin"}, ["KELVIN", "\u212aelvin"], ["kel vin"]),
    ({"type": "icontains", "value": "ss"}, ["SS"], ["ſs", "ß"]),
    ({"type": "not-icontains", "value": "NO"}, ["yes"], ["know"]),
    ({"type": "contains-any", "value": ["a|b", "{{answer}}"]}, ["Paris", "a|b"], ["a", "paris"]),
    ({"type": "contains-any", "value": "x, {{answer}} "}, ["Paris", "x"], ["par", ""]),
    ({"type": "not-contains-any", "value": ["a", "b"]}, ["c"], ["a", "xb"]),
    ({"type": "icontains-any", "value": ["YES", "1"]}, ["yes", "1"], ["no"]),
    ({"type": "contains-all", "value": ["aa", "ab"]}, ["aab", "ab aa"], ["ab", "aa", "a b"]),
    ({"type": "contains-all", "value": "1, 2"}, ["2 1"], ["1", "3"]),
    ({"type": "not-contains-all", "value": ["a", "b"]}, ["a", "b", ""], ["ab"]),
    ({"type": "icontains-all", "value": ["Bon", "JOUR"]}, ["bonjour"], ["bon"]),
    ({"type": "contains-all", "value": ["only"]}, ["only"], ["on ly"]),
    ({"type": "starts-with", "value": "^a"}, ["^ab"], ["x^a", "\n^a", "a"]),
    ({"type": "not-starts-with", "value": "a"}, ["b", ""], ["ab"]),
    ({"type": "ends-with", "value": "b$"}, ["ab$"], ["b$\n", "b"]),
    ({"type": "regex", "value": r"^\d{4}$"}, ["2024"], ["2024\n", "٢٠٢٤"]),
    ({"type": "not-regex", "value": "{{answer}}|x"}, ["Rome"], ["in Paris", "x"]),
    ({"type": "character-count", "value": 2}, ["a😀"], ["a", "abc"]),
    ({"type": "character-count", "value": {"min": 2, "max": 3}}, ["ab", "abc"], ["a", "abcd"]),
    ({"type": "not-character-count", "value": {"min": 2}}, ["a"], ["ab"]),
    ({"type": "not-character-count", "value": {"max": 2}}, ["abc"], ["ab"]),
    ({"type": "not-character-count", "value": "2"}, ["abc"], ["ab"]),
]
LOOP = """for word in output.split():
  if word == 'no':
    return True
return 0"""
IN_SANDBOX: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"type": "word-count", "value": "{{n}}"}, ["a b\ufeffc", "a\x85b c d"], ["a b", "a b c d"]),
    ({"type": "not-word-count", "value": {"max": 2}}, ["a b c"], ["a", "", "a\x1cb c"]),
    ({"type": "is-json"}, ['{"a": [1, "\\ud800"]}', " 1\n", "1" * 5_000, "1e999"], ["NaN", "{'a': 1}", "01", "\xa01"]),
    ({"type": "not-is-json"}, ["", "[Infinity]"], ["null", '"NI"']),
    ({"type": "is-json", "value": {"type": "array", "items": {"enum": [1, "a"]}}}, ["[1.0]"], ["[2]", "{}"]),
    ({"type": "not-is-json", "value": '{"required": ["{{answer}}"]}'}, ["{}", "x"], ['{"Paris": 1}']),
    ({"type": "levenshtein", "value": "kitten", "threshold": 2}, ["kitten", "mitten", "kittenss"], ["sitting", ""]),
    ({"type": "levenshtein", "value": "a"}, ["abcdef", "", "😀😀"], ["abcdefg", "😀😀😀a"]),
    ({"type": "python", "value": "len(output) > 2 and output == context['vars']['answer']"}, ["Paris"], ["Pa", "Rome"]),
    ({"type": "python", "value": "json.loads(output)['score']", "threshold": 0.5}, ['{"score": 0.5}'], ["{", "{}"]),
    ({"type": "not-python", "value": LOOP}, ["yes"], ["a no"]),
    ({"type": "python", "value": "{'pass': 'a' in output, 'score': 0.6}", "threshold": 0.5}, ["a"], ["b"]),
    ({"type": "python", "value": "{'pass': True, 'score': len(output)}", "threshold": 2}, ["ab"], ["a"]),
]  # fmt: skip
LISTED: list[tuple[str, dict[str, Any]]] = [
    ("needs_model", {"type": "llm-rubric", "value": "is polite"}),
    ("needs_model", {"type": "not-similar", "value": "x"}),
    ("needs_model", {"type": "promptfoo:redteam:pii"}),
    ("unsupported", {"type": "javascript", "value": "output.length > 1"}),
    ("unsupported", {"type": "bleu", "value": "x"}),
    ("unsupported", {"type": "rouge-n", "value": "x"}),
    ("unsupported", {"type": "contains-json"}),
    ("unsupported", {"type": "is-sql"}),
    ("unsupported", {"type": "cost", "threshold": 1}),
    ("unsupported", {"type": "no-such-type"}),
    ("unsupported", {"type": "contains", "value": "a", "transform": "output.trim()"}),
    ("unsupported", {"type": "not-levenshtein", "value": "a"}),
    ("threshold", {"type": "levenshtein", "value": "a", "threshold": 0}),
    ("threshold", {"type": "latency"}),
    ("threshold", {"type": "not-character-count", "value": {"min": 1, "max": 2}}),
    ("file_reference", {"type": "equals", "value": "file://expected.txt"}),
    ("file_reference", {"type": "contains-any", "value": ["a", "file:///etc/passwd"]}),
    ("template", {"type": "equals", "value": "{{answer | upper}}"}),
    ("template", {"type": "equals", "value": "{{missing}}"}),
    ("template", {"type": "equals", "value": "{{list}}"}),
    ("template", {"type": "equals", "value": "{{code}}"}),
    ("template", {"type": "regex", "value": "{% x %}"}),
    ("value", {"type": "equals", "value": {"a": 1}}),
    ("value", {"type": "equals"}),
    ("value", {"type": "is-json", "value": {"properties": {"a": {"format": "date"}}}}),
    ("value", {"type": "contains", "value": ""}),
    ("value", {"type": "contains-any", "value": 'a, "b,c"'}),
    ("value", {"type": "contains-any", "value": "a, ,b"}),
    ("value", {"type": "contains-all", "value": [["a"]]}),
    ("value", {"type": "word-count", "value": {"min": 3, "max": 2}}),
    ("value", {"type": "word-count", "value": "many"}),
    ("regex", {"type": "regex", "value": "^(?!no)"}),
    ("case", {"type": "icontains", "value": "ΟΔΟΣ"}),
    ("weight", {"type": "contains", "value": "a", "weight": 0}),
    ("weight", {"type": "contains", "value": "a", "weight": -1}),
    ("code", {"type": "python", "value": "import numpy\nreturn numpy.mean(output)"}),
    ("code", {"type": "python", "value": "context['test']['vars']"}),
    ("code", {"type": "python", "value": "(lambda c: c)(context)"}),
    ("code", {"type": "python", "value": "return ("}),
]


@pytest.mark.parametrize(("assertion", "passing", "failing"), GRADED, ids=[str(each[0]) for each in GRADED])
async def test_translated_assertions_decide_as_promptfoo(
    assertion: dict[str, Any], passing: list[str], failing: list[str]
) -> None:
    check = translate_assertion(assertion, VARIABLES)
    assert [text for text in passing if not await passes(check, text)] == []
    assert [text for text in failing if await passes(check, text)] == []


@pytest.mark.slow
@pytest.mark.parametrize(("assertion", "passing", "failing"), IN_SANDBOX, ids=[str(each[0]) for each in IN_SANDBOX])
async def test_assertions_that_need_code_decide_as_promptfoo(
    assertion: dict[str, Any], passing: list[str], failing: list[str]
) -> None:
    check = translate_assertion(assertion, VARIABLES)
    assert [text for text in passing if not await passes(check, text)] == []
    assert [text for text in failing if await passes(check, text)] == []


@pytest.mark.parametrize(("kind", "assertion"), LISTED, ids=[str(each[1]) for each in LISTED])
def test_assertions_without_exact_translation_have_a_kind(kind: str, assertion: dict[str, Any]) -> None:
    with pytest.raises(NotTranslatable) as raised:
        translate_assertion(assertion, VARIABLES)
    assert raised.value.kind == kind
    assert raised.value.why


@pytest.mark.parametrize(
    "kind", ["contains", "not-contains", "contains-all", "not-contains-all", "is-json", "not-is-json"]
)
async def test_output_without_a_text_meets_no_assertion(kind: str) -> None:
    value = {} if kind.endswith("is-json") else {"value": ["a", "b"] if kind.endswith("all") else "a"}
    body = body_of(translate_assertion({"type": kind, **value}, {}))
    outputs: list[Any] = [{}, {"text": 5}, {"text": None}, [], {"other": "a"}]
    for output in outputs:
        assert await verdict(body, output) is Verdict.REJECTED


@pytest.mark.parametrize(("kind", "latency_ms", "expected"), [
    ("latency", 100, Verdict.PASSED), ("latency", 101, Verdict.REJECTED),
    ("not-latency", 100, Verdict.REJECTED), ("not-latency", 101, Verdict.PASSED),
])  # fmt: skip
async def test_latency_is_what_the_platform_measures(kind: str, latency_ms: int, expected: Verdict) -> None:
    body = body_of(translate_assertion({"type": kind, "threshold": 100}, {}))
    assert await verdict(body, "x", platform_latency_ms=latency_ms) is expected
