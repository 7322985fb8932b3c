"""`aex verify --outputs`: verdicts on many outputs, their report, and the exit code of the worst line."""

import json
from pathlib import Path
from typing import Any

import pytest

from aex_models.batch import BatchSummary
from tests.libs.cli.test_verify import CRITERIA, GOOD, LATENCY, POOR, WORK, CommandBench


class BatchBench(CommandBench):
    """Files in a folder, and the command over many outputs."""

    def outputs(self, *lines: Any) -> None:
        texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
        self.file("outputs.jsonl", "\n".join(texts))

    def run(self, *flags: str, **files: str) -> tuple[int, str, list[str]]:
        """Exit code, stdout, and the lines on stderr but the note on what confinement lacks."""
        code, out, err = self.verify(*flags, **{"output": "", "outputs": "outputs.jsonl", **files})
        notes = [line for line in err if line.startswith("aex: note: this system confines workers without: ")]
        assert len(notes) <= 1
        return code, out, [line for line in err if line not in notes]


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> BatchBench:
    return BatchBench(tmp_path, capsys)


def lines_of(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_lines_equal_the_results_of_single_outputs(bench: BatchBench) -> None:
    bench.outputs(*[{"id": number, "output": GOOD if number % 3 else POOR} for number in range(80)])
    code, out, err = bench.run("--json", "--jobs", "2")
    *answers, last = lines_of(out)
    assert (code, err, [each["index"] for each in answers]) == (1, [], list(range(80)))
    varying = {"verification_id", "verified_at"}
    for output, number in (("good.json", 1), ("poor.json", 0)):
        single = json.loads(bench.verify("--json", output=output)[1])
        assert {k: v for k, v in answers[number]["result"].items() if k not in varying} == {
            k: v for k, v in single.items() if k not in varying
        }
    assert (last["summary"]["passed"], last["summary"]["rejected"]) == (53, 27)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([{"output": GOOD}], 0),
        ([{"output": GOOD}, {"output": POOR}], 1),
        ([{"output": POOR}, "{oops", {"output": GOOD}], 2),
        ([{"output": POOR}, {"output": GOOD, "id": {}}], 2),
    ],
)
def test_worst_line_decides_the_exit_code(bench: BatchBench, lines: list[Any], code: int) -> None:
    bench.outputs(*lines)
    assert bench.run()[0] == code


def test_indeterminate_line_is_worse_than_a_rejected_one(bench: BatchBench) -> None:
    latency = {**LATENCY, "metric": "platform_latency_ms"}
    bench.file("criteria.json", {"criteria": [*CRITERIA["criteria"], latency]})
    bench.outputs({"output": POOR}, {"output": GOOD})
    code, out, _ = bench.run()
    assert code == 3
    assert "2: 0 passed, 0 rejected, 2 indeterminate, 0 invalid" in out
    assert "unknown: no output has a verdict" in out


def test_malformed_line_is_reported_and_the_others_are_verified(bench: BatchBench) -> None:
    bench.outputs({"id": "a", "output": GOOD}, "", '{"output"', {"output": GOOD, "evaluation": {"pattern": "(?=x)"}})
    code, out, _ = bench.run("--json")
    first, second, third, fourth, last = lines_of(out)
    assert code == 2
    assert (first["id"], first["result"]["verdict"]) == ("a", "passed")
    assert [each["problem"]["code"] for each in (second, third)] == ["malformed_json", "malformed_json"]
    assert fourth["problem"]["errors"][0]["path"] == "/evaluation/pattern"
    assert (last["summary"]["problems"], last["summary"]["pass_rate"]["share"]) == (3, 1.0)


def test_line_may_bring_its_own_reference_and_metadata(bench: BatchBench) -> None:
    bench.file("criteria.json", {"criteria": [CRITERIA["criteria"][0], LATENCY]})
    bench.file("metadata.json", {"duration_ms": 99})
    own = {"evaluation": {"reference": "Nothing was decided."}, "execution_metadata": {"duration_ms": 101}}
    bench.outputs({"output": GOOD}, {"output": POOR}, {"output": POOR, **own})
    met = [
        [each["met"] for each in line["result"]["criterion_results"]]
        for line in lines_of(bench.run("--json", metadata="metadata.json")[1])[:-1]
    ]
    assert met == [[True, True], [False, True], [True, False]]


def test_custom_metrics_run_in_long_lived_workers(bench: BatchBench) -> None:
    code = "def evaluate(input, output, metadata):\n    return len(output['text'])\n"
    criterion = {"metric": "custom.size", "metric_type": "custom", "comparison": "gte", "threshold": 2}
    work = {**WORK, "evaluation": {"custom_metrics": [{"name": "size", "code": code}]}}
    bench.file("work.json", {**work, "success_criteria": {"criteria": [criterion]}})
    bench.outputs(*[{"output": {"text": "x" * number}} for number in range(1, 6)])
    *answers, _ = lines_of(bench.run("--json", "--jobs", "1", criteria="")[1])
    assert [each["result"]["metrics"]["custom.size"] for each in answers] == [1, 2, 3, 4, 5]


def test_reports_have_the_same_figures_and_html_escapes_all_texts(bench: BatchBench) -> None:
    evil = "<script>alert('x')</script>\u202e\x1b[31m"
    bench.outputs({"output": GOOD}, {"id": evil, "output": POOR}, "{")
    json_out, html_out = bench.folder / "report.json", bench.folder / "report.html"
    assert bench.run("--report", "json", "--out", str(json_out))[0] == 2
    code, out, _ = bench.run("--report", "html", "--out", str(html_out))
    assert (code, f"report     {html_out}" in out) == (2, True)
    report = json.loads(json_out.read_text())
    summary = BatchSummary.model_validate(report["summary"])
    assert (summary.pass_rate.count, summary.pass_rate.total, summary.problems) == (1, 2, 1)
    assert [(each["line"], each["verdict"]) for each in report["not_passed"]] == [(2, "rejected"), (3, "invalid")]
    html = html_out.read_text()
    assert "50.0 % (1 of 2 with a verdict), 95 % interval 9.5 to 90.5 %" in html
    assert "50.0 % (1 of 2 with a verdict), 95 % interval 9.5 to 90.5 %" in out
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in html
    assert not [mark for mark in ("<script", "\x1b", "\u202e", "http://", "https://", "src=", "href=") if mark in html]


def test_report_without_a_file_goes_to_stdout_alone(bench: BatchBench) -> None:
    bench.outputs({"output": GOOD})
    code, out, _ = bench.run("--report", "json")
    assert (code, json.loads(out)["summary"]["passed"]) == (0, 1)


def test_progress_is_printed_to_stderr_where_it_is_requested(bench: BatchBench) -> None:
    bench.outputs(*[{"output": POOR}] * 600)
    assert bench.run("--progress", "--jobs", "2")[2] == ["aex: 512 verified"]
    assert bench.run()[2] == []


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--output", "good.json", "--output", "poor.json"],
            "--output is given 2 times, and only one file would be read",
        ),
        (["--outputs", "a", "--outputs", "b"], "--outputs is given 2 times"),
        (["--output", "good.json", "--outputs", "a"], "--output and --outputs exclude each other"),
        ([], "there is no output; give --output for one output, or --outputs for a file with many"),
        (["--outputs", "a", "--claims", "criteria.json"], "--claims is about one output"),
        (["--output", "good.json", "--jobs", "2"], "--jobs needs --outputs"),
        (["--outputs", "a", "--out", "b"], "--out needs --report"),
        (["--outputs", "a", "--json", "--report", "html"], "would both go to stdout"),
        (["--outputs", "missing.jsonl"], "missing.jsonl cannot be read"),
        (["--outputs", "empty.jsonl"], "empty.jsonl holds no outputs"),
        (["--outputs", "-", "--metadata", "-"], "only one of the files can be standard input"),
    ],
)
def test_wrong_options_are_named_with_exit_code_2(
    bench: BatchBench, monkeypatch: pytest.MonkeyPatch, flags: list[str], message: str
) -> None:
    monkeypatch.chdir(bench.folder)
    bench.file("empty.jsonl", "\n\n")
    code, _, err = bench.verify(*flags, output="")
    assert code == 2
    assert message in err[-1]


@pytest.mark.parametrize(
    ("work", "message"),
    [
        ({"science": {"question": "?"}}, "the work has science"),
        ({"verification": {"verifier": "mine"}}, "the work names a verifier"),
        ({"evaluation": {"reference": 5}}, "work.json /evaluation/reference"),
        ({"inptu": {}}, "work.json /inptu"),
    ],
)
def test_work_that_cannot_be_verified_in_batches_is_refused(
    bench: BatchBench, work: dict[str, Any], message: str
) -> None:
    bench.outputs({"output": GOOD})
    bench.file("work.json", WORK | work)
    code, _, err = bench.run()
    assert code == 2
    assert message in err[0]
