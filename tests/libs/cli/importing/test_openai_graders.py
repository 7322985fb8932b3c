"""OpenAI's graders as checks, and verdicts on graded texts."""

from typing import Any

import pytest

from aex_cli.importing.checks import Check, CheckGroup, NotTranslatable
from aex_cli.importing.openai_graders import translate_grader
from aex_models.results import Verdict
from tests.libs.cli.importing.grading import CATALOG, body_of, passes, verdict

ITEM = {"answer": "Paris", "n": 3, "ref": "the cat sat on the mat", "empty": "", "none": None}
OUTPUT = "{{ sample.output_text }}"


def string_check(operation: str, reference: str, graded: str = OUTPUT) -> dict[str, Any]:
    return {"type": "string_check", "name": "n", "input": graded, "reference": reference, "operation": operation}


def similarity(metric: str, reference: str = "{{item.ref}}", **more: Any) -> dict[str, Any]:
    return {
        "type": "text_similarity", "name": "n", "input": OUTPUT, "reference": reference, "evaluation_metric": metric,
        "pass_threshold": 0.5, **more,
    }  # fmt: skip


def python(source: str, **more: Any) -> dict[str, Any]:
    return {"type": "python", "name": "n", "source": source, "pass_threshold": 0.5, **more}


def multi(formula: str, **more: Any) -> dict[str, Any]:
    graders = {
        "a": string_check("like", "a"),
        "b": string_check("like", "b"),
        "share": similarity("bleu"),
        "model": {"type": "score_model", "name": "m", "model": "x", "input": []},
    }
    return {"type": "multi", "name": "n", "graders": graders, "calculate_output": formula, **more}


COUNTING = """
import re

def grade(sample, item):
    found = re.findall(item["answer"], sample["output_text"])
    return len(found) / item["n"]
"""
GRADED = [
    (string_check("eq", "{{item.answer}}"), ["Paris"], ["paris", "Paris\n", "in Paris"]),
    (string_check("eq", OUTPUT, "{{item.answer}}"), ["Paris"], ["Rome"]),
    (string_check("eq", "{{item.empty}}"), [""], ["x"]),
    (string_check("eq", "n={{item.n}}."), ["n=3."], ["n=3x"]),
    (string_check("ne", "{{item.answer}}"), ["Rome", ""], ["Paris"]),
    (string_check("like", "Par"), ["Paris"], ["paris"]),
    (string_check("ilike", "PAR"), ["Paris", "compare"], ["p ar"]),
    (string_check("like", "a.c|"), ["xa.c|"], ["abc", ""]),
    (similarity("bleu"), ["the cat sat on the mat"], ["a dog", ""]),
    (similarity("fuzzy_match", "abcd", pass_threshold=0.75), ["abcd", "abcx"], ["ab", "", "ABCD"]),
    (similarity("rouge_1"), ["cat mat the sat"], ["a dog"]),
    (similarity("rouge_l", pass_threshold=1), ["The cat sat on the mat!"], ["the cat"]),
]


@pytest.mark.parametrize(("grader", "passing", "failing"), GRADED, ids=[str(each[0]) for each in GRADED])
async def test_translated_graders_give_the_same_verdict(grader: Any, passing: list[str], failing: list[str]) -> None:
    check = translate_grader(grader, ITEM, CATALOG)
    assert isinstance(check, Check)
    assert [text for text in passing if not await passes(check, text)] == []
    assert [text for text in failing if await passes(check, text)] == []


@pytest.mark.slow
async def test_python_grader_is_a_custom_metric_with_its_threshold() -> None:
    check = translate_grader(python(COUNTING, pass_threshold=0.6), ITEM, CATALOG)
    assert isinstance(check, Check)
    assert (check.metric, check.comparison, check.threshold) == ("custom", "gte", 0.6)
    assert [await passes(check, text) for text in ("Paris, Paris", "Paris", "")] == [True, False, False]
    assert await verdict(body_of(check), {}) is Verdict.REJECTED


@pytest.mark.slow
async def test_exception_of_a_python_grader_leaves_the_outcome_open() -> None:
    check = translate_grader(python("def grade(sample, item):\n    return 1 / 0\n"), ITEM, CATALOG)
    assert isinstance(check, Check)
    assert await verdict(body_of(check), "x") is Verdict.INDETERMINATE


@pytest.mark.parametrize(
    ("formula", "more", "decided"),
    [
        ("0.8 * a + 0.2 * b", {"pass_threshold": 0.7}, {"a": True, "b": False, "ab": True, "": False}),
        ("(a + b) / 2", {"pass_threshold": 0.5}, {"a": True, "b": True, "": False}),
        ("(a + b) / 2", {}, {"a": False, "b": False, "ab": True}),
    ],
)
async def test_weighted_mean_becomes_weights(formula: str, more: Any, decided: dict[str, bool]) -> None:
    group = translate_grader(multi(formula, **more), ITEM, CATALOG)
    assert isinstance(group, CheckGroup)
    checks = [each for each in group.items if isinstance(each, Check)]
    body = body_of(*checks, minimum=group.minimum)
    assert {text: await verdict(body, text) is Verdict.PASSED for text in decided} == decided


async def test_weighted_score_is_the_mean() -> None:
    group = translate_grader(multi("0.8 * a + 0.2 * b"), ITEM, CATALOG)
    assert isinstance(group, CheckGroup)
    assert [each.weight for each in group.items] == [0.8, 0.2]


LISTED = [
    ("needs_model", {"type": "score_model", "name": "m", "model": "x", "input": []}),
    ("needs_model", {"type": "label_model", "name": "m", "model": "x", "input": [], "labels": ["a"]}),
    ("needs_model", similarity("cosine")),
    ("needs_model", multi("0.5 * a + 0.5 * model")),
    ("unsupported", similarity("gleu")),
    ("unsupported", similarity("meteor")),
    ("unsupported", similarity("rouge_3")),
    ("unsupported", string_check("matches", "x")),
    ("unsupported", {"type": "endpoint", "name": "n"}),
    ("threshold", similarity("bleu", pass_threshold=None)),
    ("threshold", similarity("bleu", pass_threshold=1.5)),
    ("threshold", python("def grade(sample, item):\n    return 1\n", pass_threshold=None)),
    ("threshold", multi("a", pass_threshold=2)),
    ("formula", multi("min(a, b)")),
    ("formula", multi("0.5 * a + 0.5 * share")),
    ("template", string_check("eq", "{{item.missing}}")),
    ("template", string_check("eq", "{{item.none}}")),
    ("template", string_check("eq", "x", "The answer: {{sample.output_text}}")),
    ("template", string_check("eq", "x", "{{sample.output_json.answer}}")),
    ("template", string_check("like", OUTPUT, "{{item.answer}}")),
    ("template", string_check("eq", OUTPUT)),
    ("template", similarity("bleu", "{{item.empty}}")),
    ("case", string_check("ilike", "ς")),
    ("code", python("def score(sample, item):\n    return 1\n")),
    ("code", python("def grade(sample):\n    return 1\n")),
    ("code", python("def grade(sample, item):\n    return len(sample)\n")),
    ("code", python("def grade(sample, item):\n    return sample['output_json']['x']\n")),
    ("code", python("from rapidfuzz import fuzz\ndef grade(sample, item):\n    return 1\n")),
    ("code", python("def evaluate():\n    return 1\ndef grade(sample, item):\n    return 1\n")),
    ("code", python("def grade(sample, item:\n")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "grader"), LISTED, ids=[str(each[1])[:100] for each in LISTED])
def test_graders_without_exact_translation_have_a_kind(kind: str, grader: Any) -> None:
    with pytest.raises(NotTranslatable) as raised:
        translate_grader(grader, ITEM, CATALOG)
    assert raised.value.kind == kind


def test_a_configured_metric_translates_its_similarity() -> None:
    catalog = CATALOG.of(
        CATALOG.config.model_validate({"extractors": {"text_quality": {"config": {"rouge_types": ["rouge3"]}}}})
    )
    check = translate_grader(similarity("rouge_3"), ITEM, catalog)
    assert isinstance(check, Check)
    assert check.metric == "rouge3"
