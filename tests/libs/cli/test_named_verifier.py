"""`aex verify` with a work that names a verifier: it is run, confined and in its time, and decides too."""

import json
from pathlib import Path
from typing import Any

import pytest

from aex_models.results import VerificationResult
from tests.libs.cli.test_verify import CRITERIA, POOR, WORK, Desk

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
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    desk = Desk(tmp_path, capsys)
    desk.file("config.yaml", CONFIG)
    return desk


def verify(desk: Desk, verifier: str, *flags: str, **files: str) -> tuple[int, str, list[str]]:
    """With the work naming this verifier, and the configuration that has it."""
    desk.file("work.json", {**WORK, "verification": {"verifier": verifier, "max_attempts": 5}})
    return desk.verify("--config", desk.path("config.yaml"), *flags, **files)


def test_an_output_that_both_take_passes_and_the_final_result_is_shown(desk: Desk) -> None:
    code, out, err = verify(desk, "tone")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert (code, err) == (0, [])
    assert lines[0] == "passed the verifier tone accepts it; 2 of 2 criteria met; all that are required"
    told = json.loads(lines[1].removeprefix("result "))
    assert told["text"] == "THE COMMITTEE APPROVED A BUDGET FOR LIBRARIES."
    assert (told["price"], told["asked"], told["attempts"], told["service"]) == ("1.10", WORK["input"], 5, False)
    assert lines[-2].startswith("money bonus 0.30, penalty 0.00")


def test_a_rejection_takes_the_verdict_and_the_bonus_and_shows_its_message_in_one_line(desk: Desk) -> None:
    desk.file("poor.json", {"text": "The committee approved a budget for books."})
    code, out, _ = verify(desk, "tone", output="poor.json")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 1
    assert lines[:3] == [
        "rejected the verifier tone rejects it; 2 of 2 criteria met; all that are required",
        "verifier name the [31mlibrary (no_library)",
        'metadata {"text": "The committee approved a budget for books."}',
    ]
    assert lines[-2] == "money bonus 0.00, penalty 0.00; at max_cpc it costs 1.00 + 0.00 - 0.00 = 1.00 USD"


def test_bonuses_per_criterion_survive_the_verifiers_rejection(desk: Desk) -> None:
    desk.file("criteria.json", {**CRITERIA, "bonus_policy": "per_criterion"})
    desk.file("poor.json", {"text": "The committee approved a budget for books."})
    code, out, _ = verify(desk, "tone", output="poor.json")
    assert code == 1
    assert "bonus 0.30, penalty 0.00; at max_cpc it costs 1.00 + 0.25" in out


def test_what_the_criteria_reject_stays_rejected_whatever_the_verifier_says(desk: Desk) -> None:
    desk.file("poor.json", {"text": "My library."})
    code, out, _ = verify(desk, "tone", output="poor.json")
    assert code == 1
    assert "rejected   the verifier tone accepts it; required and not met: rougeL" in out


def test_a_fatal_error_is_a_rejection_that_says_so(desk: Desk) -> None:
    code, out, _ = verify(desk, "hopeless")
    assert code == 1
    assert "rejected   the verifier hopeless calls it hopeless; 2 of 2 criteria met" in out
    assert "nothing can be made of 46 characters (fatal)" in out


def test_what_the_platform_cannot_tell_stays_open(desk: Desk) -> None:
    criterion = {"metric": "platform_latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 100}
    desk.file("criteria.json", {"criteria": [criterion]})
    for output in ("good.json", "poor.json"):
        assert verify(desk, "tone", output=output)[0] == 3


def test_a_verifier_decides_alone_where_there_are_no_criteria(desk: Desk) -> None:
    code, out, _ = verify(desk, "tone", criteria="")
    assert code == 0
    assert "passed     the verifier tone accepts it; no criteria: delivered" in out
    assert "bonus 0.00, penalty 0.00; at max_cpc it costs 1.00" in out
    assert verify(desk, "tone", criteria="", output="poor.json")[0] == 1


def test_json_is_the_combined_result_with_the_verifiers_word(desk: Desk) -> None:
    code, out, err = verify(desk, "tone", "--json")
    told = json.loads(out)
    word = told.pop("verifier")
    assert (code, err, VerificationResult.model_validate(told).success) == (0, [], True)
    assert (word["name"], word["ruling"], word["final_result"]["price"]) == ("tone", "accepted", "1.10")
    code, out, _ = verify(desk, "tone", "--json", output="poor.json")
    told = json.loads(out)
    assert (code, told["verdict"], told["success"]) == (1, "rejected", False)
    assert told["verifier"] == {
        "name": "tone",
        "ruling": "rejected",
        "rejection": {"message": "name\nthe \x1b[31mlibrary", "code": "no_library", "metadata": POOR},
        "fatal": False,
    }


def test_an_output_that_does_not_validate_is_bad_input_with_each_place(desk: Desk) -> None:
    desk.file("good.json", {"text": "libraries", "day": "yesterday"})
    code, out, err = verify(desk, "dated")
    assert (code, out) == (2, "")
    assert [line.rpartition("/good.json ")[2].partition(":")[0] for line in err] == ["/day", "/pages"]
    desk.file("good.json", {"text": "The committee approved a budget for libraries", "day": "2026-01-02", "pages": 1})
    assert verify(desk, "dated")[0] == 0


@pytest.mark.parametrize(
    ("verifier", "told"),
    [
        ("broken", "aex: the verifier broken failed: ZeroDivisionError at "),
        ("nan", "aex: the verifier nan failed: FinalResultRefused: the final result of the verifier nan cannot be "),
        ("endless", "aex: the verifier endless did not come to an end within 0.3 s"),
        ("connecting", "aex: the verifier connecting failed: "),
    ],
)
def test_a_verifier_that_fails_is_no_verdict(desk: Desk, verifier: str, told: str) -> None:
    code, out, err = verify(desk, verifier)
    assert (code, out) == (3, "")
    assert err[0].startswith(told), err


def test_connections_are_for_who_asks_for_them(desk: Desk) -> None:
    code, out, _ = verify(desk, "connecting", "--verifier-network")
    assert code == 0
    assert "The AF_INET" in out


def test_an_unknown_name_is_bad_input_with_the_fix(desk: Desk) -> None:
    code, out, err = verify(desk, "tune")
    assert (code, out) == (2, "")
    assert len(err) == 1
    assert "work.json /verification/verifier: Unknown verifier: tune; registered here: broken, connecting, " in err[0]
    assert err[0].endswith("; name the configuration that has it by --config, or install the package that offers it")


def test_without_a_configuration_nothing_passes_that_was_not_run(desk: Desk) -> None:
    desk.file("work.json", {**WORK, "verification": {"verifier": "tone"}})
    code, out, err = desk.verify()
    assert (code, out) == (2, "")
    assert "Unknown verifier: tone; registered here: none" in err[0]


def test_an_installed_package_offers_its_verifier_without_a_configuration(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "tones-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tones\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[aex.verifiers]\ntone = {SAMPLES}:tone\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    desk.file("work.json", {**WORK, "verification": {"verifier": "tone"}})
    code, out, _ = desk.verify()
    assert code == 0
    assert "the verifier tone accepts it" in out


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nowhere.at.all:f", "verifiers.mine: nowhere.at.all:f cannot be loaded: ModuleNotFoundError"),
        (f"{SAMPLES}:unserved", "Nobody gives the verifier's parameter 'database'"),
    ],
)
def test_a_verifier_that_cannot_be_used_is_bad_input(desk: Desk, path: str, told: str) -> None:
    desk.file("config.yaml", f"verifiers: {{mine: '{path}', other: 'nowhere:f'}}")
    code, out, err = verify(desk, "mine")
    assert (code, out, len(err)) == (2, "", 1)
    assert told in err[0]


@pytest.mark.parametrize("verification", [{"verifier": 7}, {"verifer": "tone"}, {"max_attempts": 0}, []])
def test_a_bad_verification_section_is_named_with_its_place(desk: Desk, verification: Any) -> None:
    desk.file("work.json", {**WORK, "verification": verification})
    code, _, err = desk.verify("--config", desk.path("config.yaml"))
    assert code == 2
    assert "work.json /verification" in err[0]
