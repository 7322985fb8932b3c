"""`aex lint`: one example for each warning, and what is told of criteria that are not valid."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import aex_outcomes.linter
import aex_outcomes.science_lint
from aex_cli.main import call
from aex_outcomes import reference_check
from aex_outcomes.sandbox.port import FaultKind

EXAMPLES = {path.stem: path for path in sorted(Path(__file__).with_name("lint_examples").glob("*.yaml"))}
IMPLIED = {
    "own_data_alone": ["own_data_alone"],
    "minimum_unreachable": ["criteria_exclude_each_other"],
    "success_unreachable": ["criteria_exclude_each_other"],
}
"""What cannot be but beside another warning."""
REFUSED = {"custom_metric_timeout", "custom_metric_memory", "custom_metric_syntax"}
"""Faults of custom code that are problems, and no warnings."""
WORDS = "{metric: word_count, metric_type: count, comparison: gte, threshold: 3}"


def linted(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, Any]:
    """The exit code, and what `--json` printed."""
    code = call(["lint", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, json.loads(captured.out)


def plainly(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[str], list[str]]:
    """The exit code, the lines on stdout and those on stderr."""
    code = call(["lint", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out.splitlines(), captured.err.splitlines()


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_there_is_an_example_for_every_code_that_the_linter_has() -> None:
    rules = (aex_outcomes.linter, aex_outcomes.science_lint)
    source = "".join(Path(str(each.__file__)).read_text(encoding="utf-8") for each in rules)
    of_code = {f"custom_metric_{kind}" for kind in FaultKind} - REFUSED
    assert set(EXAMPLES) == {*re.findall(r'code="(\w+)"', source), reference_check.CODE, *of_code}


@pytest.mark.parametrize("code", EXAMPLES)
def test_each_warning_is_found_on_the_example_made_for_it(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code, found = linted(capsys, EXAMPLES[code])
    assert (exit_code, found["valid"], found["problems"]) == (0, True, [])
    assert [each["code"] for each in found["warnings"]] == [*IMPLIED.get(code, []), code]
    assert all(each["path"] and each["message"] and each["suggestion"] for each in found["warnings"])


def test_a_warning_names_its_file_and_the_place_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    path = EXAMPLES["self_reported"]
    code, out, _ = plainly(capsys, path)
    assert code == 0
    assert f"{path} /success_criteria/criteria/0: latency_ms is reported by the agent itself" in out[0]
    assert "(self_reported)" in out[0]
    assert out[-1].split() == ["valid", "no", "problems,", "1", "warning"]


def test_strict_makes_warnings_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert plainly(capsys, EXAMPLES["self_reported"], "--strict")[0] == 1


def test_the_quote_tells_both_ends_and_what_reaches_them(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = plainly(capsys, EXAMPLES["bonus_unreachable"])
    told = {line.split()[0]: " ".join(line.split()[1:]) for line in out}
    assert told["quote"] == "a contract at max_cpc costs 0.00 to 3.00 USD"
    assert told["most"].startswith("3.00 = 1.00 base + 2.00 bonus - 0.00 penalty; a success; met: word_count")
    assert "no success; met: nothing" in told["least"]


def test_criteria_alone_are_linted_as_if_their_evaluation_data_were_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "criteria: [{metric: rougeL, metric_type: rouge_score, comparison: gte, threshold: 0}]"
    path = written(tmp_path, "criteria.yaml", text)
    code, out, _ = plainly(capsys, path)
    assert code == 0
    assert f"{path} /criteria/0: rougeL gte" in out[0]
    assert any("none without a budget" in line for line in out)


def test_a_work_that_lacks_the_evaluation_data_of_its_criteria_is_told_where_they_belong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "criteria: [{metric: rougeL, metric_type: rouge_score, comparison: gte, threshold: 0.4}]"
    work = written(tmp_path, "work.json", '{"title": "t", "budget": {"max_cpc": "1"}}')
    code, out, _ = plainly(capsys, written(tmp_path, "criteria.yaml", text), "--work", work)
    assert code == 1
    assert f"{work} /evaluation/reference: rougeL needs evaluation.reference (evaluation_missing)" in out[0]


def test_a_work_that_was_read_back_from_the_service_is_taken_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work: dict[str, Any] = {
        "work_id": "work_1",
        "consumer_id": "acme",
        "status": "open",
        "created_at": "2026-01-01T00:00:00Z",
        "warnings": [],
        "quote": None,
        "title": "Say something",
        "evaluation": None,
        "science": None,
        "success_criteria": {
            "criteria": [{"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3}]
        },
        "verification": {"max_attempts": 3, "verifier": None},
        "budget": {"max_cpc": "0.50"},
    }
    code, found = linted(capsys, written(tmp_path, "work.json", json.dumps(work)))
    assert (code, found["problems"], found["warnings"]) == (0, [], [])
    assert found["quote"]["maximum"]["total"] == "0.50"


NAMING = {
    "criteria": "criteria: [{metric: word_count, metric_type: count, comparison: gte, threshold: 3}]",
    "work": "budget: {max_cpc: 1}\nverification: {verifier: tone}",
    "config": "verifiers: {tone: 'nowhere.installed:verify'}",
    "other": "verifiers: {tune: 'nowhere.installed:verify'}",
}


def test_a_verifier_is_known_where_the_services_configuration_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: written(tmp_path, f"{name}.yaml", text) for name, text in NAMING.items()}
    arguments = (files["criteria"], "--work", files["work"], "--config")
    assert plainly(capsys, *arguments, files["config"])[0] == 0
    code, out, err = plainly(capsys, *arguments, files["other"])
    told = f"{files['work']} /verification/verifier: Unknown verifier; registered here: tune (unknown_verifier)"
    assert (code, err) == (1, [])
    assert any(told in line for line in out), out


def test_without_it_any_name_is_taken_and_the_user_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: written(tmp_path, f"{name}.yaml", text) for name, text in NAMING.items()}
    code, _, err = plainly(capsys, files["criteria"], "--work", files["work"])
    assert code == 0
    assert [line for line in err if "whether there is a verifier tone was not checked" in line] == err != []


def test_criteria_beside_a_verifier_need_not_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loose = NAMING["criteria"].replace("threshold: 3", "threshold: 3, required: false, bonus: 1")
    criteria = written(tmp_path, "criteria.yaml", loose)
    work = written(tmp_path, "work.yaml", NAMING["work"])
    config = written(tmp_path, "config.yaml", NAMING["config"])
    alone = written(tmp_path, "alone.yaml", "budget: {max_cpc: 1}")
    assert plainly(capsys, criteria, "--work", work, "--config", config, "--strict")[0] == 0
    assert plainly(capsys, criteria, "--work", alone, "--config", config, "--strict")[0] == 1


def test_all_problems_are_told_at_once_with_their_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    criteria = written(
        tmp_path,
        "criteria.yaml",
        "aggregation: most\n"
        "criteria:\n"
        "  - {metric: nope, metric_type: numeric, comparison: gte, threshold: 1}\n"
        "  - {metric: rougeL, metric_type: rouge_score, comparison: gte, threshold: 2, bonuss: 1}\n",
    )
    work = written(tmp_path, "work.yaml", "evalution: {}\nbudget: {max_cpc: much}\ninput: {reference: x}\n")
    code, out, err = plainly(capsys, criteria, "--work", work)
    assert (code, err) == (1, [])
    for place in (
        f"{work} /evalution: a work has no field evalution; did you mean evaluation?",
        f"{work} /budget/max_cpc: Not an amount of money",
        f"{work} /evaluation/reference: rougeL needs",
        f"{work} /input/reference: Agents read the input",
        f"{criteria} /aggregation:",
        f"{criteria} /criteria/0/metric: Unknown metric: nope",
        f"{criteria} /criteria/1/bonuss:",
        f"{criteria} /criteria/1/threshold: Invalid threshold for metric: rougeL",
    ):
        assert any(place in line for line in out), place
    assert out[-1].split() == ["invalid", "8", "problems,", "no", "warnings"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"- {WORDS}", "holds a list, not success criteria; put the criteria as a list below the name `criteria`"),
        (WORDS, "holds one criterion, not success criteria"),
        ("5", "holds no mapping"),
        ("criteria: [", "is not YAML"),
    ],
)
def test_what_are_no_criteria_cannot_be_linted(
    tmp_path: Path, text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = plainly(capsys, written(tmp_path, "criteria.yaml", text))
    assert (code, out) == (2, [])
    assert told in err[0]


def test_custom_code_that_never_ends_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = EXAMPLES["custom_metric_bad_result"].read_text().replace('return "calm"', "while True: pass")
    config = written(tmp_path, "outcome-verification.yaml", "extractors: {custom: {sandbox: {timeout_ms: 200}}}")
    code, found = linted(capsys, written(tmp_path, "work.yaml", work), "--config", config)
    assert (code, found["valid"], found["warnings"], found["quote"]) == (1, False, [], None)
    assert [(each["path"], each["code"]) for each in found["problems"]] == [
        ("/evaluation/custom_metrics/0/code", "custom_metric_timeout")
    ]


def test_custom_code_beyond_the_subset_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = EXAMPLES["custom_metric_bad_result"].read_text().replace('return "calm"', "import socket")
    code, out, _ = plainly(capsys, written(tmp_path, "work.yaml", work))
    assert code == 1
    assert "/evaluation/custom_metrics/0/code: Line 2: The sandbox has no module socket" in out[0]


def test_a_work_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = written(tmp_path, "work.json", "[1]")
    code, _, err = plainly(capsys, EXAMPLES["self_reported"], "--work", work)
    assert code == 2
    assert f"{work} holds no work" in err[0]


def test_a_configuration_that_cannot_be_used_is_named_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = written(tmp_path, "outcome-verification.yaml", "extractors: {text_quality: {rouge: 1}}")
    code, _, err = plainly(capsys, EXAMPLES["self_reported"], "--config", config)
    assert code == 2
    assert f"{config}: extractors.text_quality.rouge" in err[0]


def test_standard_input_is_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = plainly(capsys, "-", "--work", "-")
    assert code == 2
    assert "standard input" in err[0]


CONSISTENT = "criteria: [{metric: values_consistent, metric_type: boolean, comparison: eq, threshold: true}]"


def test_without_a_work_science_is_taken_to_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = linted(capsys, written(tmp_path, "criteria.yaml", CONSISTENT))
    assert (code, found["problems"], found["warnings"]) == (0, [], [])


def test_a_work_s_science_is_linted_with_its_criteria(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    criteria = written(tmp_path, "criteria.yaml", CONSISTENT)
    science = {"checks": ["recompute_statistics", "peer_review"], "question": "?"}
    body = {"title": "t", "budget": {"max_cpc": "1"}, "science": science}
    work = written(tmp_path, "work.json", json.dumps(body))
    code, found = linted(capsys, criteria, "--work", work)
    assert code == 0
    assert [each["code"] for each in found["warnings"]] == ["own_data_alone", "own_data_alone"]
    wrong = written(
        tmp_path, "wrong.json", json.dumps({**body, "science": {"checks": ["value_ranges"], "domain": "x"}})
    )
    code, out, _ = plainly(capsys, criteria, "--work", wrong)
    assert code == 1
    assert {line.rpartition("(")[2] for line in out} >= {"unknown_domain)", "check_missing)"}
