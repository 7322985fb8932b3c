from pathlib import Path
from typing import Any

import pytest

from aex_models.results import Verdict
from aex_runtime.commandline import UserError
from tests.libs.cli.importing.grading import import_config, verdict

A, B, C = ({"type": "contains", "value": each} for each in "abc")
MODEL = {"type": "llm-rubric", "value": "x"}


def config(*asserts: Any, **test: Any) -> dict[str, Any]:
    return {"prompts": ["Do {{task}}"], "tests": [{"vars": {"task": "it"}, "assert": list(asserts), **test}]}


def kinds(untranslated: list[Any]) -> list[tuple[str, str]]:
    return [(each["path"], each["kind"]) for each in untranslated]


DECIDED: list[tuple[dict[str, Any], list[str], list[str]]] = [
    (config(A, B), ["ab"], ["a", "b", ""]),
    (config(A, {**B, "weight": 3}, threshold=0.75), ["b", "ab"], ["a", ""]),
    (config(A, B, threshold=0), ["", "a"], []),
    (config({"type": "assert-set", "assert": [A, B]}, C), ["abc"], ["ab", "ac", "c"]),
    (config({"type": "assert-set", "threshold": 0.5, "assert": [A, B]}, C), ["ac", "bc", "abc"], ["ab", "c", "a"]),
    (config({"type": "assert-set", "threshold": 0.5, "assert": [A, B]}), ["a", "b"], [""]),
    (config({"type": "assert-set", "weight": 2, "assert": [A, B]}, C, threshold=0.6), ["ab", "ac", "bc"], ["c", "a"]),
    (config(C, threshold=1) | {"defaultTest": {"assert": [A]}}, ["ac"], ["a", "c"]),
    (config(C) | {"defaultTest": {"threshold": 0.5, "assert": [A]}}, ["a", "c"], ["b"]),
    (config(C, options={"disableDefaultAsserts": True}) | {"defaultTest": {"assert": [A]}}, ["c"], ["a"]),
    (config({"$ref": "#/assertionTemplates/a"}) | {"assertionTemplates": {"a": A}}, ["a"], ["b"]),
]


@pytest.mark.parametrize(("document", "passing", "failing"), DECIDED, ids=[str(each[0]) for each in DECIDED])
async def test_groups_and_thresholds_decide_as_promptfoo(
    document: Any, passing: list[str], failing: list[str], tmp_path: Path
) -> None:
    [work], untranslated = import_config(document, tmp_path)
    assert untranslated == []
    assert [text for text in passing if await verdict(work, text) is not Verdict.PASSED] == []
    assert [text for text in failing if await verdict(work, text) is not Verdict.REJECTED] == []


def test_agents_read_the_filled_prompt_and_no_variable_of_an_assertion(tmp_path: Path) -> None:
    variables = {"task": "sums", "secret": "42"}
    document = config({"type": "equals", "value": "{{secret}}"}, vars=variables, description="says 42")
    [work], _ = import_config(document, tmp_path)
    assert (work["title"], work["input"]) == ("Imported promptfoo eval, test 1", {"prompt": "Do sums"})
    [work], untranslated = import_config({**document, "prompts": ["file://prompt.txt"]}, tmp_path)
    assert work["input"] == {"vars": {"task": "sums"}}
    assert kinds(untranslated) == [("/prompts/0", "file_reference")]
    code = {"type": "python", "value": "output in context['vars'].values()"}
    [work], _ = import_config({"prompts": [], "tests": [{"vars": variables, "assert": [A, code]}]}, tmp_path)
    assert "input" not in work


def test_a_prompt_with_a_variable_that_is_a_template_is_listed(tmp_path: Path) -> None:
    [work], untranslated = import_config(config(A, vars={"task": "{{other}}", "other": "x"}), tmp_path)
    assert kinds(untranslated) == [("/prompts/0", "template")]
    assert work["input"] == {"vars": {"task": "{{other}}", "other": "x"}}


def test_several_prompts_are_all_read(tmp_path: Path) -> None:
    document = config(A, options={"prefix": "> "}) | {"prompts": ["{{task}}", {"raw": "{{task}}!", "label": "loud"}]}
    [work], _ = import_config(document, tmp_path)
    assert work["input"] == {"prompts": ["> it", "> it!"]}


def test_lists_of_variables_make_a_work_for_each_combination(tmp_path: Path) -> None:
    works, _ = import_config(config(A, vars={"task": ["x", "y"], "more": ["1", "2"]}), tmp_path)
    assert [each["input"]["prompt"] for each in works] == ["Do x", "Do x", "Do y", "Do y"]
    works, _ = import_config(
        config(A, vars={"task": "x", "more": ["1", "2"]}, options={"disableVarExpansion": True}), tmp_path
    )
    assert len(works) == 1


def test_scenarios_make_a_work_for_each_test_and_configuration(tmp_path: Path) -> None:
    scenario = {
        "config": [{"vars": {"task": "x"}}, {"vars": {"task": "y"}}],
        "tests": [{"assert": [A]}, {"assert": [B]}],
    }
    works, untranslated = import_config({"prompts": ["{{task}}"], "scenarios": [scenario]}, tmp_path)
    assert [each["input"]["prompt"] for each in works] == ["x", "y", "x", "y"]
    assert untranslated == []


def test_criteria_differ_by_test_and_the_most_frequent_are_in_their_own_file(tmp_path: Path) -> None:
    tests = [{"assert": [A]}, {"assert": [B]}, {"assert": [A, B]}]
    works, _ = import_config({"prompts": ["x"], "tests": tests}, tmp_path)
    assert [len(each["success_criteria"]["criteria"]) for each in works] == [1, 1, 2]
    text = (tmp_path / "criteria.yaml").read_text()
    assert text.startswith("# The success criteria of 2 of 3 works in works.jsonl")


def test_what_is_not_translated_is_listed_with_its_path(tmp_path: Path) -> None:
    document = {
        "prompts": ["x"],
        "defaultTest": {"assert": [MODEL]},
        "tests": [
            {"assert": [A, MODEL]},
            {"assert": [{"type": "assert-set", "assert": [B, MODEL]}]},
            "file://t.csv",
            {},
        ],
    }
    works, untranslated = import_config(document, tmp_path)
    assert len(works) == 2
    assert kinds(untranslated) == [
        ("/tests/2", "file_reference"),
        ("/defaultTest/assert/0", "needs_model"),
        ("/tests/0/assert/1", "needs_model"),
        ("/tests/1/assert/0/assert/1", "needs_model"),
        ("/tests/3", "no_check"),
    ]


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        ({"assert": [A, MODEL], "threshold": 0.5}, "threshold"),
        ({"assert": [{"type": "assert-set", "assert": [A, MODEL], "threshold": 0.5}]}, "no_check"),
        ({"assert": [{"type": "assert-set", "assert": [A, MODEL]}], "threshold": 0.5}, "threshold"),
        ({"assert": [A], "threshold": 1.5}, "threshold"),
        ({"assert": [A], "threshold": "high"}, "threshold"),
        ({"assert": [A], "options": {"transform": "output.trim()"}}, "code"),
        ({"assert": [A], "assertScoringFunction": "file://score.js"}, "code"),
        ({"assert": [A], "vars": "file://vars.yaml"}, "file_reference"),
        ({"assert": [A], "vars": {"x": "file://x.txt"}}, "file_reference"),
        ({"assert": [A], "vars": {"x": ["a", "file://x.txt"]}}, "file_reference"),
        ({"assert": [A], "vars": {"x": []}}, "value"),
        ({"assert": [A], "vars": dict.fromkeys("abcd", ["1"] * 100)}, "value"),
        ({}, "no_check"),
        ({"assert": [MODEL]}, "no_check"),
        ({"assert": [{**A, "weight": 0}]}, "no_check"),
        ({"assert": [{**A, "value": str(each)} for each in range(11)]}, "too_many_criteria"),
        ({"assert": [{**A, "value": "x" * 20_000}]}, "invalid"),
        ({"assert": ["file://assertions.yaml"]}, "no_check"),
        ({"assert": [{"$ref": "#/no/such"}]}, "no_check"),
        ({"assert": [{"type": "assert-set", "assert": [], "threshold": 0.5}]}, "no_check"),
    ],
)
def test_a_test_that_would_decide_otherwise_becomes_no_work(test: Any, kind: str, tmp_path: Path) -> None:
    works, untranslated = import_config({"prompts": ["x"], "tests": [test]}, tmp_path)
    assert works == []
    assert ("/tests/0", kind) in kinds(untranslated)


def test_tests_of_a_data_file_replace_those_of_the_configuration(tmp_path: Path) -> None:
    works, untranslated = import_config(config(B), tmp_path, tests=[{"vars": {"task": "x"}, "assert": [A, MODEL]}])
    assert [each["input"] for each in works] == [{"prompt": "Do x"}]
    assert kinds(untranslated) == [("tests.yaml#/0/assert/1", "needs_model")]


@pytest.mark.parametrize("document", [[], {"x": 1}, {"prompts": ["a"]}, {"prompts": ["a"], "tests": []}])
def test_documents_without_tests_are_refused(document: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        import_config(document, tmp_path)


def test_all_problems_of_shape_are_named_at_once(tmp_path: Path) -> None:
    tests = [
        5,
        {"assert": "x"},
        {"assert": [{"value": 1}, {"type": "assert-set"}, {"type": "assert-set", "assert": [7]}]},
    ]
    with pytest.raises(UserError) as raised:
        import_config({"prompts": ["a"], "tests": tests}, tmp_path)
    lines = str(raised.value).splitlines()
    assert [line.split(":")[0].split()[-1] for line in lines] == [
        "/tests/0", "/tests/1/assert", "/tests/2/assert/0", "/tests/2/assert/1/assert", "/tests/2/assert/2/assert/0",
    ]  # fmt: skip
