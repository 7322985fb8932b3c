import json
from pathlib import Path
from typing import Any

import pytest

from aex_models.results import VerificationResult
from tests.libs.cli.test_verify import CRITERIA, GOOD, POOR, WORK, CommandBench

BOOKS = "The committee approved a budget for books."
SAMPLES = "tests.libs.cli.samples.verifiers"
CONFIG = f"""
verifiers:
  tone: {SAMPLES}:tone
  dated: {SAMPLES}:dated
  hopeless: {SAMPLES}:hopeless
  broken: {SAMPLES}:broken
  nan: {SAMPLES}:nan
  endless: {{path: "{SAMPLES}:endless", timeout_ms: 300}}
  connecting: {SAMPLES}:connecting
"""


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandBench:
    bench = CommandBench(tmp_path, capsys)
    bench.file("config.yaml", CONFIG)
    return bench


def verify(bench: CommandBench, verifier: str, *flags: str, **files: str) -> tuple[int, str, list[str]]:
    """With the work naming this verifier, and the configuration that has it."""
    bench.file("work.json", {**WORK, "verification": {"verifier": verifier, "max_attempts": 5}})
    return bench.verify("--config", bench.path("config.yaml"), *flags, **files)


def test_accepted_output_passes_with_its_final_result(bench: CommandBench) -> None:
    code, out, err = verify(bench, "tone")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert (code, err) == (0, [])
    assert lines[0] == "passed the verifier tone accepts it; 2 of 2 criteria met; all that are required"
    result = json.loads(lines[1].removeprefix("result "))
    assert result["text"] == "THE COMMITTEE APPROVED A BUDGET FOR LIBRARIES."
    found = (result["price"], result["asked"], result["attempts"], result["service"])
    assert found == ("1.10", WORK["input"], 5, False)
    assert lines[-2].startswith("money bonus 0.30, penalty 0.00")


def test_rejected_output_has_no_bonus_and_a_message_on_one_line(bench: CommandBench) -> None:
    bench.file("poor.json", {"text": BOOKS})
    code, out, _ = verify(bench, "tone", output="poor.json")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 1
    assert lines[:3] == [
        "rejected the verifier tone rejects it; 2 of 2 criteria met; all that are required",
        "verifier name the [31mlibrary (no_library)",
        'metadata {"text": "The committee approved a budget for books."}',
    ]
    assert lines[-2] == "money bonus 0.00, penalty 0.00; at max_cpc it costs 1.00 + 0.00 - 0.00 = 1.00 USD"


@pytest.mark.parametrize(
    ("verifier", "text", "policy", "expected", "printed"),
    [
        ("tone", BOOKS, "per_criterion", 1, ["bonus 0.30, penalty 0.00; at max_cpc it costs 1.00 + 0.25"]),
        ("tone", "My library.", "on_success", 1, ["the verifier tone accepts it; required and not met: rougeL"]),
        (
            "hopeless",
            GOOD["text"],
            "on_success",
            1,
            ["the verifier hopeless rejects it and all further attempts; 2 of 2", "made of 46 characters (fatal)"],
        ),
    ],
)
def test_rejection_by_verifier_or_criteria_is_final(
    bench: CommandBench, verifier: str, text: str, policy: str, expected: int, printed: list[str]
) -> None:
    bench.file("criteria.json", {**CRITERIA, "bonus_policy": policy})
    bench.file("poor.json", {"text": text})
    code, out, _ = verify(bench, verifier, output="poor.json")
    assert code == expected
    assert out.split()[0] == "rejected"
    assert all(part in out for part in printed), out


def test_verifier_decides_without_criteria(bench: CommandBench) -> None:
    code, out, _ = verify(bench, "tone", criteria="")
    assert code == 0
    assert "passed     the verifier tone accepts it; no criteria: delivered" in out
    assert "bonus 0.00, penalty 0.00; at max_cpc it costs 1.00" in out
    assert verify(bench, "tone", criteria="", output="poor.json")[0] == 1


def test_json_is_the_combined_result_with_the_ruling(bench: CommandBench) -> None:
    code, out, err = verify(bench, "tone", "--json")
    result = json.loads(out)
    word = result.pop("verifier")
    assert (code, err, VerificationResult.model_validate(result).success) == (0, [], True)
    assert (word["name"], word["ruling"], word["final_result"]["price"]) == ("tone", "accepted", "1.10")
    code, out, _ = verify(bench, "tone", "--json", output="poor.json")
    result = json.loads(out)
    assert (code, result["verdict"], result["success"]) == (1, "rejected", False)
    assert result["verifier"] == {
        "name": "tone",
        "ruling": "rejected",
        "rejection": {"message": "name\nthe \x1b[31mlibrary", "code": "no_library", "metadata": POOR},
        "fatal": False,
    }


def test_invalid_output_is_refused_with_each_pointer(bench: CommandBench) -> None:
    bench.file("good.json", {"text": "libraries", "day": "yesterday"})
    code, out, err = verify(bench, "dated")
    assert (code, out) == (2, "")
    assert [line.rpartition("/good.json ")[2].partition(":")[0] for line in err] == ["/day", "/pages"]
    bench.file("good.json", {"text": "The committee approved a budget for libraries", "day": "2026-01-02", "pages": 1})
    assert verify(bench, "dated")[0] == 0


@pytest.mark.parametrize(
    ("verifier", "result"),
    [
        ("broken", "aex: the verifier broken failed: ZeroDivisionError at "),
        ("nan", "aex: the verifier nan failed: FinalResultRefused: the final result of the verifier nan cannot be "),
        ("endless", "aex: the verifier endless did not end within 0.3 s"),
        ("connecting", "aex: the verifier connecting failed: "),
    ],
)
def test_failed_verifier_leaves_no_verdict(bench: CommandBench, verifier: str, result: str) -> None:
    code, out, err = verify(bench, verifier)
    assert (code, out) == (3, "")
    assert err[0].startswith(result), err
    if verifier == "connecting":
        assert verify(bench, verifier, "--verifier-network")[0] == 0


def test_unknown_verifier_is_refused_with_the_fix(bench: CommandBench) -> None:
    code, out, err = verify(bench, "tune")
    assert (code, out, len(err)) == (2, "", 1)
    assert "work.json /verification/verifier: Unknown verifier: tune; registered here: broken, connecting, " in err[0]
    assert err[0].endswith("; name the configuration that has it by --config, or install the package that offers it")
    code, out, err = bench.verify()
    assert (code, out) == (2, "")
    assert "Unknown verifier: tune; registered here: none" in err[0]


def test_installed_package_offers_its_verifier(
    bench: CommandBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "tones-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tones\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[aex.verifiers]\ntone = {SAMPLES}:tone\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    bench.file("work.json", {**WORK, "verification": {"verifier": "tone"}})
    code, out, _ = bench.verify()
    assert code == 0
    assert "the verifier tone accepts it" in out


@pytest.mark.parametrize(
    ("path", "result"),
    [
        ("nowhere.at.all:f", "verifiers.mine: nowhere.at.all:f cannot be loaded: ModuleNotFoundError"),
        (f"{SAMPLES}:unserved", "The verifier's parameter 'database' has no value"),
    ],
)
def test_unusable_verifier_is_refused(bench: CommandBench, path: str, result: str) -> None:
    bench.file("config.yaml", f"verifiers: {{mine: '{path}', other: 'nowhere:f'}}")
    code, out, err = verify(bench, "mine")
    assert (code, out, len(err)) == (2, "", 1)
    assert result in err[0]


@pytest.mark.parametrize("verification", [{"verifier": 7}, {"verifer": "tone"}, {"max_attempts": 0}, []])
def test_bad_verification_section_is_named_with_its_pointer(bench: CommandBench, verification: Any) -> None:
    bench.file("work.json", {**WORK, "verification": verification})
    code, _, err = bench.verify("--config", bench.path("config.yaml"))
    assert code == 2
    assert "work.json /verification" in err[0]
