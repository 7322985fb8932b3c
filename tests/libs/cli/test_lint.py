import json
import re
from pathlib import Path
from typing import Any

import pytest

import aex_outcomes.linter
import aex_outcomes.science_lint
from aex_cli.main import run_command_line
from aex_outcomes import reference_check
from aex_outcomes.sandbox.port import FaultKind

EXAMPLES = {path.stem: path for path in sorted(Path(__file__).with_name("lint_examples").glob("*.yaml"))}
IMPLIED = {
    "own_data_alone": ["own_data_alone"],
    "minimum_unreachable": ["criteria_exclude_each_other"],
    "success_unreachable": ["criteria_exclude_each_other"],
}
"""Warnings that occur only beside another one."""
REFUSED = {"custom_metric_timeout", "custom_metric_memory", "custom_metric_syntax"}
"""Faults of custom code that are problems, and no warnings."""
CONSISTENT = "criteria: [{metric: values_consistent, metric_type: boolean, comparison: eq, threshold: true}]"
WORDS = "{metric: word_count, metric_type: count, comparison: gte, threshold: 3}"


class LintBench:
    """Files in a folder, and `aex lint` over them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def lint(self, *arguments: str | Path) -> tuple[int, list[str], list[str]]:
        """The exit code, the lines on stdout and those on stderr."""
        code = run_command_line(["lint", *map(str, arguments)])
        captured = self._capsys.readouterr()
        return code, captured.out.splitlines(), captured.err.splitlines()

    def json(self, *arguments: str | Path) -> tuple[int, Any]:
        """The exit code, and what `--json` printed."""
        code, out, err = self.lint(*arguments, "--json")
        assert err == []
        return code, json.loads("\n".join(out))


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LintBench:
    return LintBench(tmp_path, capsys)


def test_every_warning_has_an_example() -> None:
    rules = (aex_outcomes.linter, aex_outcomes.science_lint)
    source = "".join(Path(str(each.__file__)).read_text(encoding="utf-8") for each in rules)
    of_code = {f"custom_metric_{kind}" for kind in FaultKind} - REFUSED
    assert set(EXAMPLES) == {*re.findall(r'make_lint_warning\(\s*"(\w+)"', source), reference_check.CODE, *of_code}


@pytest.mark.parametrize("code", EXAMPLES)
def test_example_has_its_warning(bench: LintBench, code: str) -> None:
    exit_code, found = bench.json(EXAMPLES[code])
    assert (exit_code, found["valid"], found["problems"]) == (0, True, [])
    assert [each["code"] for each in found["warnings"]] == [*IMPLIED.get(code, []), code]
    assert all(each["path"] and each["message"] and each["suggestion"] for each in found["warnings"])


def test_warning_names_its_file_and_pointer_and_counts_under_strict(bench: LintBench) -> None:
    path = EXAMPLES["self_reported"]
    code, out, _ = bench.lint(path)
    assert code == 0
    assert f"{path} /success_criteria/criteria/0: latency_ms is reported by the agent itself" in out[0]
    assert "(self_reported)" in out[0]
    assert out[-1].split() == ["valid", "no", "problems,", "1", "warning"]
    assert bench.lint(path, "--strict")[0] == 1


def test_quote_has_both_ends_and_their_cases(bench: LintBench) -> None:
    _, out, _ = bench.lint(EXAMPLES["bonus_unreachable"])
    printed = {line.split()[0]: " ".join(line.split()[1:]) for line in out}
    assert printed["quote"] == "a contract at max_cpc costs 0.00 to 3.00 USD"
    assert printed["most"].startswith("3.00 = 1.00 base + 2.00 bonus - 0.00 penalty; a success; met: word_count")
    assert "no success; met: nothing" in printed["least"]


def test_criteria_alone_are_linted_as_with_complete_evaluation_data(bench: LintBench) -> None:
    rouge = "criteria: [{metric: rougeL, metric_type: rouge_score, comparison: gte, threshold: 0}]"
    path = bench.file("criteria.yaml", rouge)
    code, out, _ = bench.lint(path)
    assert code == 0
    assert f"{path} /criteria/0: rougeL gte" in out[0]
    assert any("none without a budget" in line for line in out)
    work = bench.file("work.json", '{"title": "t", "budget": {"max_cpc": "1"}}')
    code, out, _ = bench.lint(path, "--work", work)
    assert code == 1
    assert f"{work} /evaluation/reference: rougeL needs evaluation.reference (evaluation_missing)" in out[0]
    code, found = bench.json(bench.file("science.yaml", CONSISTENT))
    assert (code, found["problems"], found["warnings"]) == (0, [], [])


def test_work_from_a_service_is_accepted_unchanged(bench: LintBench) -> None:
    work = f"""
        {{work_id: work_1, consumer_id: acme, status: open, created_at: 2026-01-01T00:00:00Z, warnings: [], quote: null,
        title: Say something, evaluation: null, science: null, success_criteria: {{criteria: [{WORDS}]}},
        verification: {{max_attempts: 3, verifier: null}}, budget: {{max_cpc: 0.50}}}}
    """
    code, found = bench.json(bench.file("work.yaml", work))
    assert (code, found["problems"], found["warnings"]) == (0, [], [])
    assert found["quote"]["maximum"]["total"] == "0.50"


NAMING = {
    "criteria": "criteria: [{metric: word_count, metric_type: count, comparison: gte, threshold: 3}]",
    "work": "budget: {max_cpc: 1}\nverification: {verifier: tone}",
    "config": "verifiers: {tone: 'nowhere.installed:verify'}",
    "other": "verifiers: {tune: 'nowhere.installed:verify'}",
}


def test_verifier_is_checked_against_the_given_configuration(bench: LintBench) -> None:
    files = {name: bench.file(f"{name}.yaml", text) for name, text in NAMING.items()}
    arguments = (files["criteria"], "--work", files["work"])
    assert bench.lint(*arguments, "--config", files["config"])[0] == 0
    code, out, err = bench.lint(*arguments, "--config", files["other"])
    printed = f"{files['work']} /verification/verifier: Unknown verifier; registered here: tune (unknown_verifier)"
    assert (code, err) == (1, [])
    assert any(printed in line for line in out), out
    code, _, err = bench.lint(*arguments)
    assert code == 0
    assert [line for line in err if "the verifier tone was not checked" in line] == err != []


def test_all_problems_are_printed_with_their_pointers(bench: LintBench) -> None:
    criteria = bench.file(
        "criteria.yaml",
        "aggregation: most\n"
        "criteria:\n"
        "  - {metric: nope, metric_type: numeric, comparison: gte, threshold: 1}\n"
        "  - {metric: rougeL, metric_type: rouge_score, comparison: gte, threshold: 2, bonuss: 1}\n",
    )
    work = bench.file("work.yaml", "evalution: {}\nbudget: {max_cpc: much}\ninput: {reference: x}\n")
    code, out, err = bench.lint(criteria, "--work", work)
    assert (code, err) == (1, [])
    for position in (
        f"{work} /evalution: There is no such field; did you mean evaluation?",
        f"{work} /budget/max_cpc: Not an amount of money",
        f"{work} /evaluation/reference: rougeL needs",
        f"{work} /input/reference: Agents read the input",
        f"{criteria} /aggregation:",
        f"{criteria} /criteria/0/metric: Unknown metric: nope",
        f"{criteria} /criteria/1/bonuss:",
        f"{criteria} /criteria/1/threshold: Invalid threshold for metric: rougeL",
    ):
        assert any(position in line for line in out), position
    assert out[-1].split() == ["invalid", "8", "problems,", "no", "warnings"]


@pytest.mark.parametrize(
    ("criteria", "further", "printed"),
    [
        (f"- {WORDS}", {}, "holds a list, not success criteria; put the criteria as a list below the name `criteria`"),
        (WORDS, {}, "holds one criterion, not success criteria"),
        ("5", {}, "holds no mapping"),
        ("criteria: [", {}, "is not valid YAML"),
        (f"criteria: [{WORDS}]", {"--work": "[1]"}, "work.yaml holds no work"),
        (
            f"criteria: [{WORDS}]",
            {"--config": "extractors: {text_quality: {rouge: 1}}"},
            "config.yaml: extractors.text_quality.rouge",
        ),
    ],
)
def test_unusable_file_is_refused(bench: LintBench, criteria: str, further: dict[str, str], printed: str) -> None:
    options = [
        part for name, text in further.items() for part in (name, bench.file(f"{name.removeprefix('--')}.yaml", text))
    ]
    code, out, err = bench.lint(bench.file("criteria.yaml", criteria), *options)
    assert (code, out) == (2, [])
    assert printed in err[0]
    assert bench.lint("-", "--work", "-")[0] == 2


def test_failed_custom_code_is_a_problem(bench: LintBench) -> None:
    work = EXAMPLES["custom_metric_bad_result"].read_text().replace('return "calm"', "while True: pass")
    config = bench.file("outcome-verification.yaml", "extractors: {custom: {sandbox: {timeout_ms: 200}}}")
    exit_code, found = bench.json(bench.file("work.yaml", work), "--config", config)
    assert (exit_code, found["valid"], found["warnings"], found["quote"]) == (1, False, [], None)
    [each] = found["problems"]
    assert (each["path"], each["code"]) == ("/evaluation/custom_metrics/0/code", "custom_metric_timeout")


def test_science_is_linted_with_its_criteria(bench: LintBench) -> None:
    criteria = bench.file("criteria.yaml", CONSISTENT)
    science = {"checks": ["recompute_statistics", "peer_review"], "question": "?"}
    body = {"title": "t", "budget": {"max_cpc": "1"}, "science": science}
    work = bench.file("work.json", json.dumps(body))
    code, found = bench.json(criteria, "--work", work)
    assert code == 0
    assert [each["code"] for each in found["warnings"]] == ["own_data_alone", "own_data_alone"]
    wrong = bench.file("wrong.json", json.dumps({**body, "science": {"checks": ["value_ranges"], "domain": "x"}}))
    code, out, _ = bench.lint(criteria, "--work", wrong)
    assert code == 1
    assert {line.rpartition("(")[2] for line in out} >= {"unknown_domain)", "check_missing)"}
