"""`aex verify`: verdicts by exit code, each criterion explained, and bad input named."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
import structlog

from aex_cli.main import run_command_line
from aex_models.contract import Candidate
from aex_models.results import VerificationResult
from aex_outcomes.lifecycle.outputs import candidate_hash
from tests.libs.cli.suites import ENVIRONMENT, TIMEOUT_S, eventually

WORK: dict[str, Any] = {
    "input": {"text": "Minutes."},
    "evaluation": {"reference": "The committee approved the new budget for public libraries."},
    "budget": {"max_cpc": "1.00", "max_cpa_total": "0.25"},
}
CRITERIA: dict[str, Any] = {
    "criteria": [
        {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4, "bonus": "0.30"},
        {"metric": "word_count", "metric_type": "count", "comparison": "lte", "threshold": 12, "penalty": "0.05"},
    ]
}
GOOD = {"text": "The committee approved a budget for libraries."}
POOR = {"text": "Nothing was decided."}
LATENCY = {"metric": "latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 100}


class CommandBench:
    """Files in a folder, and the command over them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.file("criteria.json", CRITERIA)
        self.file("work.json", WORK)
        self.file("good.json", GOOD)
        self.file("poor.json", POOR)

    def file(self, name: str, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        (self.folder / name).write_text(text, encoding="utf-8")

    def path(self, name: str) -> str:
        return name if name == "-" else str(self.folder / name)

    def verify(self, *flags: str, **files: str) -> tuple[int, str, list[str]]:
        """Exit code, stdout, and the lines on stderr."""
        chosen = {"criteria": "criteria.json", "work": "work.json", "output": "good.json"} | files
        options = [part for name, file in chosen.items() if file for part in (f"--{name}", self.path(file))]
        code = run_command_line(["verify", *options, *flags])
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err.splitlines()

    def lines(self, *flags: str, **files: str) -> dict[str, str]:
        """The plain output by the first word of each line, blanks collapsed."""
        _, out, _ = self.verify(*flags, **files)
        return {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines()}


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandBench:
    return CommandBench(tmp_path, capsys)


def test_good_output_passes_with_exit_code_0(bench: CommandBench) -> None:
    code, out, err = bench.verify()
    assert (code, err) == (0, [])
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        "passed 2 of 2 criteria met; all that are required",
        "metric value needs met must weight money source",
        "rougeL 0.75 at least 0.4 yes yes 1 +0.30 computed",
        "word_count 7 at most 12 yes yes 1 -0.05 computed",
        "money bonus 0.30, penalty 0.00; at max_cpc it costs 1.00 + 0.25 - 0.00 = 1.25 USD",
        "governance skipped: it decides only on running contracts",
    ]
    assert "\x1b" not in out


def test_poor_output_is_rejected_with_exit_code_1_and_its_reasons(bench: CommandBench) -> None:
    code, out, _ = bench.verify(output="poor.json")
    assert code == 1
    assert "rejected   required and not met: rougeL" in out
    assert "not met    rougeL: 0, needs at least 0.4" in out


def test_unmeasured_metric_is_indeterminate_with_exit_code_3(bench: CommandBench) -> None:
    criterion = {"metric": "platform_latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 100}
    bench.file("criteria.json", {"criteria": [criterion]})
    code, out, _ = bench.verify()
    assert code == 3
    assert "indeterminate: not the agent's fault: platform_latency_ms could not be computed" in out
    assert "give --platform-latency-ms" in out
    assert bench.verify("--platform-latency-ms", "99")[0] == 0
    assert bench.verify("--platform-latency-ms", "101")[0] == 1


def test_failed_custom_code_is_indeterminate(bench: CommandBench) -> None:
    code = "def evaluate(input, output, metadata):\n    return 10 / output['text'].count('e')\n"
    work = {"evaluation": {"custom_metrics": [{"name": "share", "code": code}]}}
    criterion = {"metric": "custom.share", "metric_type": "numeric", "comparison": "gte", "threshold": 1}
    bench.file("work.json", {**work, "success_criteria": {"criteria": [criterion]}})
    assert bench.verify(criteria="")[0] == 0
    bench.file("poor.json", {"text": "Nothing"})
    exit_code, out, _ = bench.verify(criteria="", output="poor.json")
    assert exit_code == 3
    assert "ZeroDivisionError" in out
    assert "(custom_metric_failed), needs at least 1; a failure of the custom code, not of the agent" in out


def test_json_is_the_result_with_the_hash_of_a_contracts_candidate(bench: CommandBench) -> None:
    bench.file("metadata.json", {"duration_ms": 99.5})
    code, out, _ = bench.verify("--json", output="poor.json", metadata="metadata.json")
    result = VerificationResult.model_validate_json(out)
    assert (code, result.verdict, result.success, result.governance.action) == (1, "rejected", False, "skipped")
    assert [each.met for each in result.criterion_results] == [False, True]
    assert result.metrics["word_count"] == 3
    candidate = Candidate.model_validate({"output": POOR, "execution_metadata": {"duration_ms": 99.5}})
    assert result.candidate_hash == candidate_hash(candidate)


def test_log_lines_stay_off_standard_output(bench: CommandBench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.verify("--json")
    structlog.get_logger("confinement").warning("confinement_degraded")
    structlog.get_logger("confinement").error("worse")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "worse" in printed.err
    assert "confinement_degraded" not in printed.err


def test_missing_metric_is_explained_and_reported_metadata_count(bench: CommandBench) -> None:
    share = {"metric": "chrf", "metric_type": "percentage", "comparison": "gte", "threshold": 50}
    bench.file("criteria.json", {"criteria": [*CRITERIA["criteria"], LATENCY, share]})
    bench.file("poor.json", {"output": GOOD, "execution_metadata": {}})
    _, out, err = bench.verify(output="poor.json")
    assert "chrf: missing, the output has nothing at /text (metric_missing), needs at least 50" in out
    assert "looks like a candidate" in err[0]
    assert "rougeL: missing, the output has no text at /text (metric_missing), needs at least 0.4" in out
    assert "latency_ms: missing, the metadata lack it (metric_missing), needs at most 100" in out
    bench.file("metadata.json", {"duration_ms": 99.5})
    assert bench.lines(metadata="metadata.json")["latency_ms"] == "99.5 at most 100 yes yes 1 – reported"


def test_summary_names_the_rule_of_the_aggregation(bench: CommandBench) -> None:
    bench.file("criteria.json", {**CRITERIA, "aggregation": "weighted", "minimum_weighted_score": 0.75})
    assert bench.lines(output="poor.json")["rejected"] == "1 of 2 criteria met; weighted score 0.5, needs 0.75"
    bench.file("criteria.json", {**CRITERIA, "aggregation": "any"})
    assert bench.lines(output="poor.json")["passed"] == "1 of 2 criteria met; any one decides"


def test_criteria_may_be_those_of_the_work_or_stand_without_one(
    bench: CommandBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = bench.verify(criteria="")
    assert (code, err) == (2, ["aex: there are no success criteria; name their file with --criteria"])
    code, _, err = bench.verify(criteria="-", output="-")
    assert code == 2
    assert "only one of the files can be standard input" in err[0]
    bench.file("work.json", {**WORK, "success_criteria": CRITERIA})
    assert bench.verify(criteria="")[0] == 0
    bench.file("criteria.yaml", "criteria: [{metric: word_count, metric_type: count, comparison: gte, threshold: 3}]")
    monkeypatch.setenv("FORCE_COLOR", "1")
    code, out, _ = bench.verify(criteria="criteria.yaml", work="")
    assert code == 0
    assert "\x1b[" in out, "colours on a terminal"


@pytest.mark.parametrize(
    ("file", "content", "printed"),
    [
        ("criteria.json", {"criteria": []}, "criteria.json /criteria: At least one criterion is needed"),
        ("criteria.json", {"criteria": [{"metric": "nope"}]}, "criteria.json /criteria/0/metric: Unknown metric: nope"),
        ("criteria.json", [1], "criteria.json holds a list, not success criteria"),
        ("criteria.json", "{", "criteria.json: not JSON"),
        ("work.json", {"evalution": {}}, "work.json /evalution: There is no such field; did you mean evaluation?"),
        ("work.json", {}, "work.json /evaluation/reference: rougeL needs evaluation.reference"),
        ("work.json", {**WORK, "evaluation": {"reference": 5}}, "work.json /evaluation/reference"),
        ("work.json", {**WORK, "input": {"reference": "x"}}, "work.json /input/reference: Agents read the input"),
        ("work.json", {**WORK, "budget": {"max_cpc": -1}}, "work.json /budget/max_cpc"),
        ("good.json", '{"text": NaN}', "good.json /text: NaN is not JSON"),
        ("metadata.json", {"duration_ms": "fast"}, "metadata.json /duration_ms: Expected a finite number"),
        ("metadata.json", [], "metadata.json: Expected an object"),
    ],
)
def test_bad_input_is_named_with_its_file_and_pointer(
    bench: CommandBench, file: str, content: Any, printed: str
) -> None:
    bench.file("metadata.json", {})
    bench.file(file, content)
    code, out, err = bench.verify(metadata="metadata.json")
    assert (code, out) == (2, "")
    assert any(printed in line for line in err), err
    assert all(line.startswith("aex: ") for line in err)


@pytest.mark.slow
def test_output_may_come_from_a_pipe_and_an_interrupt_exits_with_130(bench: CommandBench) -> None:
    command = [sys.executable, "-m", "aex_cli", "verify", "--criteria", bench.path("criteria.json")]
    command += ["--work", bench.path("work.json"), "--output", "-"]
    done = subprocess.run(command, input=json.dumps(GOOD), text=True, capture_output=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    code = "def evaluate(input, output, metadata):\n    while True: pass\n"
    bench.file("slow.json", {"evaluation": {"custom_metrics": [{"name": "x", "code": code}]}})
    criterion = {"metric": "custom.x", "metric_type": "numeric", "comparison": "gte", "threshold": 1}
    bench.file("criteria.json", {"criteria": [criterion]})
    command[-4:] = ["--work", bench.path("slow.json"), "--output", bench.path("good.json")]
    bench.file("config.yaml", "extractors: {custom: {sandbox: {timeout_ms: 60000}}}")
    command += ["--config", bench.path("config.yaml")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as running:
        below = psutil.Process(running.pid)
        assert eventually(lambda: any("monty" in each.name() for each in below.children(recursive=True)))
        running.send_signal(signal.SIGINT)
        assert running.wait(TIMEOUT_S) == 130
        assert running.stderr is not None
        assert "Traceback" not in running.stderr.read()
