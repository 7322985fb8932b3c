from pathlib import Path
from typing import Any

import pytest

from aex_cli.importing.openai_evals import import_openai_eval
from aex_cli.importing.rows import DataRow
from aex_cli.offline.documents import InputDocument
from aex_models.results import Verdict
from aex_outcomes.submission import check_submission
from aex_runtime.commandline import UserError
from tests.libs.cli.importing.grading import CATALOG, import_eval, no_progress, verdict

EXACT = {
    "type": "string_check", "name": "Match: the label!", "input": "{{sample.output_text}}",
    "reference": "{{item.label}}", "operation": "eq",
}  # fmt: skip
MODEL = {
    "type": "label_model", "name": "m", "model": "x", "labels": ["a"], "passing_labels": ["a"],
    "input": [{"role": "user", "content": "{{item.question}}"}],
}  # fmt: skip
CODE = {"type": "python", "name": "c", "source": "def grade(sample, item):\n    return item['hint'] == 1\n"}


def eval_of(*graders: Any) -> dict[str, Any]:
    return {
        "object": "eval",
        "name": "Tickets",
        "data_source_config": {"type": "custom"},
        "testing_criteria": list(graders),
    }


async def test_each_row_becomes_a_valid_work_with_the_same_criteria(tmp_path: Path) -> None:
    items = [{"label": "A", "topic": "x"}, {"label": "B", "topic": "y"}]
    works, untranslated = import_eval(eval_of(EXACT), *items, folder=tmp_path)
    assert untranslated == []
    assert [each["title"] for each in works] == ["Tickets, row 1", "Tickets, row 2"]
    assert [each["input"] for each in works] == [{"item": {"topic": "x"}}, {"item": {"topic": "y"}}]
    assert works[0]["success_criteria"] == works[1]["success_criteria"]
    assert [check_submission(each, CATALOG).problems for each in works] == [(), ()]
    assert [await verdict(each, "B") for each in works] == [Verdict.REJECTED, Verdict.PASSED]
    [criterion] = works[0]["success_criteria"]["criteria"]
    assert criterion["metric"] == "matches_pattern.match_the_label"
    assert (tmp_path / "criteria.yaml").read_text().startswith("# The success criteria of all 2 works")


def test_agents_read_no_field_that_a_grader_reads(tmp_path: Path) -> None:
    item = {"label": "A", "question": "?", "hint": 1, "other": 2}
    [work], _ = import_eval(eval_of(EXACT, MODEL, CODE), item, folder=tmp_path)
    assert work["input"] == {"item": {"other": 2}}


@pytest.mark.parametrize("reference", ["{{item.label | upper}}", "{{item}}", "{{ item.label"])
def test_agents_read_no_field_of_a_template_that_is_not_translated(reference: str, tmp_path: Path) -> None:
    unread = {**EXACT, "reference": reference}
    [work], _ = import_eval(eval_of({**EXACT, "reference": "A"}, unread), {"label": "A"}, folder=tmp_path)
    assert "input" not in work


def test_agents_read_nothing_if_code_may_read_every_field(tmp_path: Path) -> None:
    code = {**CODE, "source": "def grade(sample, item):\n    return float('A' in item.values())\n"}
    [work], _ = import_eval(eval_of({**EXACT, "reference": "A"}, code), {"other": 2}, folder=tmp_path)
    assert "input" not in work


def test_agents_read_the_fields_that_the_user_names() -> None:
    document, row = (
        InputDocument("eval.json", eval_of(EXACT, MODEL)),
        DataRow(1, {"item": {"label": "A", "question": "?"}}),
    )
    imported = import_openai_eval(document, [row], ["question"], CATALOG, no_progress)
    assert imported.works[0].input == {"item": {"question": "?"}}
    with pytest.raises(UserError, match="no row has the field title"):
        import_openai_eval(document, [row], ["title"], CATALOG, no_progress)


def test_rows_without_an_item_are_the_item() -> None:
    document = InputDocument("job.json", {"method": {"reinforcement": {"grader": EXACT}}})
    imported = import_openai_eval(document, [DataRow(1, {"label": "A", "messages": []})], (), CATALOG, no_progress)
    assert imported.works[0].input == {"item": {"messages": []}}


@pytest.mark.parametrize(
    "wrap", [lambda each: each, lambda each: {"grader": each}, lambda each: {"reinforcement": {"grader": each}}]
)
def test_single_graders_need_no_rows_if_they_read_none(wrap: Any, tmp_path: Path) -> None:
    [work], untranslated = import_eval(wrap({**EXACT, "reference": "yes"}), folder=tmp_path)
    assert untranslated == []
    assert work["success_criteria"]["criteria"][0]["threshold"] is True


def test_untranslated_graders_are_listed_once_with_their_rows(tmp_path: Path) -> None:
    items: list[dict[str, Any]] = [{"label": "A", "question": "q"}, *({"label": None, "question": "q"},) * 5]
    works, untranslated = import_eval(eval_of(MODEL, EXACT), *items, folder=tmp_path)
    assert len(works) == 1
    assert [(each["path"], each["kind"]) for each in untranslated] == [
        ("/testing_criteria/0", "needs_model"), ("/testing_criteria/1", "template"), ("", "no_check"),
    ]  # fmt: skip
    assert untranslated[1]["why"].endswith("(rows 2, 3, 4 and 2 more)")


@pytest.mark.parametrize("value", [[], {}, {"testing_criteria": []}, "text", {"name": "x"}])
def test_documents_without_graders_are_refused(value: Any) -> None:
    with pytest.raises(UserError, match="has no graders"):
        import_openai_eval(InputDocument("eval.json", value), None, (), CATALOG, no_progress)


def test_graders_that_read_rows_need_a_data_file() -> None:
    with pytest.raises(UserError, match="reads items of rows"):
        import_openai_eval(InputDocument("eval.json", eval_of(EXACT)), None, (), CATALOG, no_progress)


def test_all_problems_of_shape_are_named_at_once() -> None:
    graders = [{"type": "string_check"}, 5, {"type": "multi", "graders": {"a": {}}, "calculate_output": 1}]
    with pytest.raises(UserError) as raised:
        import_openai_eval(InputDocument("eval.json", eval_of(*graders)), None, (), CATALOG, no_progress)
    assert [line.split(":")[0] for line in str(raised.value).splitlines()] == [
        "eval.json /testing_criteria/0/input",
        "eval.json /testing_criteria/0/reference",
        "eval.json /testing_criteria/0/operation",
        "eval.json /testing_criteria/1",
        "eval.json /testing_criteria/2/calculate_output",
        "eval.json /testing_criteria/2/graders/a",
    ]
