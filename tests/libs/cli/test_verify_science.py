"""`aex verify` of works with science: claims held against raw data, told claim by claim."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import aex_cli.examples
from aex_cli.main import call
from aex_models.contract import Candidate
from aex_models.results import VerificationResult
from aex_outcomes.lifecycle.hashing import candidate_hash
from tests.libs.outcomes.science.fitness import CSV, DOMAIN, FORGED, MEAN_SPEC, csv_of

EXAMPLE = Path(aex_cli.examples.__file__).parent / "fitness"
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
HONEST, WRONG = {"mean_fitness": -0.39}, {"mean_fitness": 11.17}


class Bench:
    """Files in a folder, and the command over them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        for name, value in {"honest": HONEST, "wrong": WRONG, "output": {"text": "The mean."}}.items():
            self.file(f"{name}.json", json.dumps(value))
        self.file("scores.csv", CSV)
        self.file("forged.csv", FORGED)
        self.work()

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def work(self, **science: Any) -> None:
        self.file("work.json", json.dumps({**WORK, "science": {**WORK["science"], **science}}))

    def verify(
        self,
        *flags: str,
        claims: str | None = "honest.json",
        artifact: str | None = "scores.csv",
        data: str | None = None,
    ) -> tuple[int, str, str]:
        """Exit code, stdout with its blanks collapsed, and stderr in one line."""
        options = ["--work", str(self.folder / "work.json"), "--output", str(self.folder / "output.json")]
        options += ["--claims", str(self.folder / claims)] if claims else []
        options += ["--artifact", f"scores.csv={self.folder / artifact}"] if artifact else []
        options += ["--data", f"raw.csv={self.folder / data}"] if data else []
        code = call(["verify", *options, *flags])
        told = self._capsys.readouterr()
        out = told.out if "--json" in flags else "\n".join(" ".join(line.split()) for line in told.out.splitlines())
        return code, out, " ".join(told.err.split())


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def test_an_honest_claim_passes_and_is_told_beside_what_was_recomputed(bench: Bench) -> None:
    code, out, err = bench.verify()
    assert (code, err) == (0, "")
    assert "passed the science gate passes it; 2 of 2 criteria met; all that are required" in out
    assert "claim claimed recomputed off by result data" in out
    assert "mean_fitness -0.39 -0.39 " in out
    assert "% match agent's" in out
    assert "values_consistent true true yes yes 1 – reported" in out


def test_a_claim_that_the_data_do_not_bear_out_is_rejected_with_figures(bench: Bench) -> None:
    code, out, _ = bench.verify(claims="wrong.json")
    assert code == 1
    assert "rejected the science gate refuses it: value_mismatch, domain_violation" in out
    assert "critical mismatch agent's" in out
    assert "violation mean_fitness: 11.17, needs -5 to 2 (domain)" in out


def test_the_consumers_own_data_count_and_not_the_agents_forged_ones(bench: Bench) -> None:
    code, out, _ = bench.verify(claims="wrong.json", artifact="forged.csv", data="scores.csv")
    assert code == 1
    assert "critical mismatch consumer's" in out
    code, out, _ = bench.verify(artifact="forged.csv", data="scores.csv")
    assert code == 0
    assert "values_consistent true true yes yes 1 – computed" in out


def test_how_many_decimals_a_claim_has_counts(bench: Bench) -> None:
    bench.work(statistics=[{**MEAN_SPEC, "tolerance": 0.0}])
    bench.file("scores.csv", csv_of(-0.394, -0.392))  # a mean of -0.393, which rounds to -0.39 and not to -0.390
    assert bench.verify()[0] == 0
    bench.file("finer.json", '{"mean_fitness": -0.390}')
    assert bench.verify(claims="finer.json")[0] == 1


def test_names_of_claims_do_not_move_the_terminals_cursor(bench: Bench) -> None:
    bench.file("odd.json", json.dumps({"\x1b[2Jmean": 1, "mean_fitness": -0.39}))
    _, out, _ = bench.verify(claims="odd.json")
    assert "[2Jmean" in out
    assert "\x1b" not in out


def test_without_data_nothing_passes(bench: Bench) -> None:
    code, out, _ = bench.verify(artifact=None)
    assert code == 1
    assert "not met values_consistent: missing, nothing was recomputed or checked that tells it" in out


def test_a_file_that_cannot_be_read_is_told_with_its_code(bench: Bench) -> None:
    bench.file("scores.csv", CSV.replace(",", ";"))
    code, out, _ = bench.verify()
    assert code == 1
    assert "(wrong_delimiter)" in out


def test_consumers_data_that_cannot_be_read_are_no_verdict(bench: Bench) -> None:
    bench.file("zip.csv", b"PK\x03\x04 and more")
    code, out, _ = bench.verify(data="zip.csv")
    assert code == 3
    assert "verdict indeterminate: the science gate cannot tell" in out
    assert "(not_csv)" in out


def test_a_demanded_review_can_be_refused_by_arithmetic_and_passed_by_nobody_here(bench: Bench) -> None:
    bench.work(checks=["value_ranges", "recompute_statistics", "peer_review"])
    code, out, _ = bench.verify(claims="wrong.json")
    assert code == 1
    code, out, _ = bench.verify()
    assert code == 3
    assert "the science gate cannot tell: reviewer_unreachable" in out
    assert "there is none here" in out


def test_the_json_is_the_result_with_all_that_was_found(bench: Bench) -> None:
    code, out, _ = bench.verify("--json", claims="wrong.json")
    assert code == 1
    found = VerificationResult.model_validate(json.loads(out))
    assert found.science is not None
    assert found.science.passed is False
    assert found.science.value_mismatches[0].claimed == 11.17
    content = {"name": "scores.csv", "media_type": "text/csv", "sha256": sha256(CSV.encode()).hexdigest()}
    candidate = {"output": {"text": "The mean."}, "claimed_values": WRONG, "artifacts": [content]}
    assert found.candidate_hash == candidate_hash(Candidate.model_validate(candidate)), "as a contract would have it"


def test_a_work_with_science_needs_no_criteria(bench: Bench) -> None:
    work = {name: value for name, value in WORK.items() if name != "success_criteria"}
    bench.file("work.json", json.dumps(work))
    code, out, _ = bench.verify()
    assert code == 0
    assert out.startswith("passed the science gate passes it\n")


@pytest.mark.parametrize(
    ("science", "given", "said"),
    [
        ({"domain": "alchemy"}, {}, "work.json /science/domain: Unknown domain; known here: "),
        ({"checks": ["no_such_check"]}, {}, "work.json /science/checks/0: Unknown check"),
        ({"data": [{"name": "raw.csv"}]}, {}, "science.data names raw.csv: give what is in it, under that name"),
        ({}, {"artifact": "nowhere.csv"}, "nowhere.csv; check the path given to --artifact"),
        ({}, {"claims": "output.json"}, "output.json /text: Expected a number or null"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_the_fix(
    bench: Bench, science: dict[str, Any], given: dict[str, str], said: str
) -> None:
    bench.work(**science)
    code, _, err = bench.verify(**given)
    assert code == 2
    assert said in err


def test_data_with_another_digest_than_the_works_are_refused(bench: Bench) -> None:
    bench.work(data=[{"name": "raw.csv", "sha256": "a" * 64}])
    code, _, err = bench.verify(data="scores.csv")
    assert code == 2
    assert f"the work's data have {'a' * 64}" in err


def test_claims_for_a_work_without_science_would_be_looked_at_by_nobody(bench: Bench) -> None:
    bench.file("work.json", json.dumps({"success_criteria": {"criteria": [LENGTH]}}))
    code, _, err = bench.verify(artifact=None)
    assert code == 2
    assert "the work has no science" in err


LENGTH = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 1}


def test_a_name_that_is_given_twice_is_refused(bench: Bench) -> None:
    code, _, err = bench.verify("--artifact", str(bench.folder / "scores.csv"))
    assert code == 2
    assert "--artifact: scores.csv is given twice; give each file a name of its own: NAME=FILE" in err


@pytest.mark.parametrize(("claims", "expected"), [("claims.json", 0), ("plotted_claims.json", 1)])
def test_the_example_of_the_readme_is_judged_as_it_says(
    claims: str, expected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"--work": "work.json", "--output": "output.json", "--claims": claims, "--data": "scores.csv"}
    options = [part for option, name in files.items() for part in (option, str(EXAMPLE / name))]
    assert call(["verify", *options]) == expected
    assert "consumer's" in capsys.readouterr().out
    readme = (Path(__file__).parents[3] / "libs/aex-cli/README.md").read_text(encoding="utf-8")
    assert f"--claims {claims}" in readme
