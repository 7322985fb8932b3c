import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from aex_cli.examples import FOLDER
from aex_cli.main import run_command_line
from aex_models.contract import Candidate
from aex_models.results import VerificationResult
from aex_outcomes.lifecycle.outputs import candidate_hash
from tests.libs.cli.test_verify import CommandBench
from tests.libs.outcomes.science.conditions import MEANS, MIXED_MEAN, TWO
from tests.libs.outcomes.science.fitness import CSV, DOMAIN, FORGED, MEAN_SPEC, csv_of

WORK: dict[str, Any] = {
    "domain": DOMAIN,
    "science": {"statistics": [MEAN_SPEC]},
    "success_criteria": {
        "criteria": [
            {"metric": "values_consistent", "metric_type": "boolean", "comparison": "eq", "threshold": True},
            {"metric": "stat.mean_fitness", "metric_type": "numeric", "comparison": "lt", "threshold": 0},
        ]
    },
}
OUTPUT, HONEST, WRONG = {"text": "The mean."}, {"mean_fitness": -0.39}, {"mean_fitness": 11.17}


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandBench:
    bench = CommandBench(tmp_path, capsys)
    for name, value in {"honest": HONEST, "wrong": WRONG, "output": OUTPUT, "work": WORK}.items():
        bench.file(f"{name}.json", value)
    bench.file("scores.csv", CSV)
    bench.file("forged.csv", FORGED)
    return bench


def work(bench: CommandBench, **science: Any) -> None:
    bench.file("work.json", {**WORK, "science": {**WORK["science"], **science}})


def verify(
    bench: CommandBench,
    *flags: str,
    claims: str = "honest.json",
    artifact: str | None = "scores.csv",
    data: str | None = None,
) -> tuple[int, str, str]:
    """Exit code, stdout with its blanks collapsed, and stderr in one line."""
    options = ["--artifact", f"scores.csv={bench.folder / artifact}"] if artifact else []
    options += ["--data", f"raw.csv={bench.folder / data}"] if data else []
    code, out, err = bench.verify(*options, *flags, criteria="", output="output.json", claims=claims)
    blanks = out if "--json" in flags else "\n".join(" ".join(line.split()) for line in out.splitlines())
    return code, blanks, " ".join(" ".join(err).split())


def test_honest_claim_passes_and_a_wrong_one_is_rejected_with_figures(bench: CommandBench) -> None:
    code, out, err = verify(bench)
    assert (code, err) == (0, "")
    assert out.startswith("passed the science gate passes it; 2 of 2 criteria met")
    assert "claim claimed recomputed off by result data\nmean_fitness -0.39 -0.39 " in out
    assert "values_consistent true true yes yes 1 – reported" in out
    code, out, _ = verify(bench, claims="wrong.json")
    assert code == 1
    assert "rejected the science gate rejects it: value_mismatch, domain_violation" in out
    assert "critical mismatch agent's" in out
    assert "violation mean_fitness: 11.17, needs -5 to 2 (domain)" in out


@pytest.mark.parametrize(("claims", "expected", "result"), [("wrong", 1, "critical mismatch"), ("honest", 0, "match")])
def test_consumers_data_replace_the_agents_forged_ones(
    bench: CommandBench, claims: str, expected: int, result: str
) -> None:
    code, out, _ = verify(bench, claims=f"{claims}.json", artifact="forged.csv", data="scores.csv")
    assert code == expected
    assert f"{result} consumer's" in out
    assert "yes 1 – computed" in out


def test_mean_over_two_conditions_is_rejected_with_the_groups_and_means_of_each_pass(bench: CommandBench) -> None:
    criterion = {"metric": "value_mismatches", "metric_type": "count", "comparison": "eq", "threshold": 0}
    bench.file("work.json", {"domain": DOMAIN, "science": {}, "success_criteria": {"criteria": [criterion]}})
    bench.file("two.csv", TWO)
    bench.file("mixed.json", {"mean_fitness": MIXED_MEAN})
    code, out, _ = verify(bench, claims="mixed.json", artifact="two.csv")
    assert code == 1
    assert "science mixed_groups (mean_fitness)" in out
    groups = "A (n 709, mean -0.714, median -0.7"
    assert f"groups scores.csv: mixed_groups: mut_score by condition: {groups}" in out.replace("\n", " ")
    bench.file("each.json", {f"mean_fitness[condition={name}]": mean for name, mean in MEANS.items()})
    code, out, _ = verify(bench, claims="each.json", artifact="two.csv")
    assert code == 0
    assert "mean_fitness[condition=B] 23.6 23.6 " in out


def test_decimals_of_a_claim_count(bench: CommandBench) -> None:
    work(bench, statistics=[{**MEAN_SPEC, "tolerance": 0.0}])
    bench.file("scores.csv", csv_of(-0.394, -0.392))  # a mean of -0.393, which rounds to -0.39 and not to -0.390
    assert verify(bench)[0] == 0
    bench.file("finer.json", '{"mean_fitness": -0.390}')
    assert verify(bench, claims="finer.json")[0] == 1


def test_control_characters_of_claims_are_removed(bench: CommandBench) -> None:
    bench.file("odd.json", {"\x1b[2Jmean": 1, "mean_fitness": -0.39})
    _, out, _ = verify(bench, claims="odd.json")
    assert "[2Jmean" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("given", "expected", "printed"),
    [
        ({"artifact": None}, 1, ["not met values_consistent: missing, no value was recomputed or checked for it"]),
        ({"artifact": "colons.csv"}, 1, ["(wrong_delimiter)"]),
        ({"data": "zip.csv"}, 3, ["verdict indeterminate: the science gate is indeterminate", "(not_csv)"]),
    ],
)
def test_missing_or_unreadable_data_are_named(
    bench: CommandBench, given: dict[str, Any], expected: int, printed: list[str]
) -> None:
    bench.file("colons.csv", CSV.replace(",", ";"))
    (bench.folder / "zip.csv").write_bytes(b"PK\x03\x04 and more")
    code, out, _ = verify(bench, **given)
    assert code == expected
    assert all(text in out for text in printed)


def test_required_review_is_indeterminate_unless_arithmetic_rejects(bench: CommandBench) -> None:
    work(bench, checks=["value_ranges", "recompute_statistics", "peer_review"])
    assert verify(bench, claims="wrong.json")[0] == 1
    code, out, _ = verify(bench)
    assert code == 3
    assert "the science gate is indeterminate: reviewer_unreachable" in out
    assert "no judge is available offline" in out


def test_json_is_the_complete_result(bench: CommandBench) -> None:
    code, out, _ = verify(bench, "--json", claims="wrong.json")
    found = VerificationResult.model_validate(json.loads(out))
    assert found.science is not None
    assert (code, found.science.passed, found.science.value_mismatches[0].claimed) == (1, False, 11.17)
    content = {"name": "scores.csv", "media_type": "text/csv", "sha256": sha256(CSV.encode()).hexdigest()}
    candidate = {"output": OUTPUT, "claimed_values": WRONG, "artifacts": [content]}
    assert found.candidate_hash == candidate_hash(Candidate.model_validate(candidate)), "as a contract would have it"


def test_work_with_science_needs_no_criteria(bench: CommandBench) -> None:
    bench.file("work.json", {name: value for name, value in WORK.items() if name != "success_criteria"})
    code, out, _ = verify(bench)
    assert code == 0
    assert out.startswith("passed the science gate passes it\n")


@pytest.mark.parametrize(
    ("science", "given", "message"),
    [
        ({"domain": "alchemy"}, {}, "work.json /science/domain: Unknown domain; known here: "),
        ({"checks": ["no_such_check"]}, {}, "work.json /science/checks/0: Unknown check"),
        ({"data": [{"name": "raw.csv"}]}, {}, "science.data names raw.csv: give what is in it, under that name"),
        (
            {"data": [{"name": "raw.csv", "sha256": "a" * 64}]},
            {"data": "scores.csv"},
            f"the work's data have {'a' * 64}",
        ),
        ({}, {"artifact": "nowhere.csv"}, "nowhere.csv; check the path given to --artifact"),
        ({}, {"claims": "output.json"}, "output.json /text: Expected a number or null"),
    ],
)
def test_bad_input_is_named_with_its_pointer_and_the_fix(
    bench: CommandBench, science: dict[str, Any], given: dict[str, str], message: str
) -> None:
    work(bench, **science)
    code, _, err = verify(bench, **given)
    assert code == 2
    assert message in err


def test_duplicate_name_and_claims_without_science_are_refused(bench: CommandBench) -> None:
    code, _, err = verify(bench, "--artifact", bench.path("scores.csv"))
    assert code == 2
    assert "--artifact: scores.csv is given twice; give each file a name of its own: NAME=FILE" in err
    length = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 1}
    bench.file("work.json", {"success_criteria": {"criteria": [length]}})
    code, _, err = verify(bench, artifact=None)
    assert code == 2
    assert "the work has no science" in err


@pytest.mark.parametrize(("claims", "expected"), [("claims.json", 0), ("plotted_claims.json", 1)])
def test_example_of_the_readme_has_the_documented_verdict(
    claims: str, expected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"--work": "work.json", "--output": "output.json", "--claims": claims, "--data": "scores.csv"}
    options = [part for option, name in files.items() for part in (option, str(FOLDER / "fitness" / name))]
    assert run_command_line(["verify", *options]) == expected
    assert "consumer's" in capsys.readouterr().out
    readme = (Path(__file__).parents[3] / "libs/aex-cli/README.md").read_text(encoding="utf-8")
    assert f"--claims {claims}" in readme
