import hashlib
import math
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aex_models.canonical import canonical_bytes
from aex_models.examination import MismatchSeverity
from aex_models.numbers import JsonFloat
from aex_models.results import Provenance, Verdict, VerificationResult
from aex_outcomes import VerificationEngine
from aex_outcomes.science.source_files import UnusableFile
from tests.libs.outcomes.engine.builders import Still, criteria, criterion, verify
from tests.libs.outcomes.science.fitness import CSV, FORGED, MEAN, MEAN_SPEC, artifact, csv_of, science
from tests.parts.reviewing import ScriptedReviewer

WRONG, HONEST = {"mean_fitness": 11.17}, {"mean_fitness": round(MEAN, 2)}
REVIEWED = science(checks=["value_ranges", "recompute_statistics", "peer_review"])


async def judged(claims: Mapping[str, float | None], demanded: Any = None, **more: Any) -> VerificationResult:
    expected = more.pop("expected", None)
    return await verify(
        expected, {"text": "The mean fitness."}, claimed_values=claims, science=demanded or science(), **more
    )


async def test_a_mean_that_the_data_do_not_bear_out_is_rejected_by_arithmetic_and_by_the_domain() -> None:
    found = await judged(WRONG, artifacts=[artifact()])
    assert found.verdict is Verdict.REJECTED
    assert found.science is not None
    (mismatch,) = found.science.value_mismatches
    assert (mismatch.name, mismatch.claimed, mismatch.severity.value) == ("mean_fitness", 11.17, "critical")
    assert mismatch.actual == pytest.approx(MEAN, rel=1e-9)
    assert [each.name for each in found.science.domain_violations] == ["mean_fitness"]
    assert {each.code for each in found.science.reasons} >= {"value_mismatch", "domain_violation"}


@pytest.mark.parametrize("claim", [None, math.nan])
async def test_a_claim_of_no_number_is_a_violation_and_matches_nothing(claim: float | None) -> None:
    found = await judged({"mean_fitness": claim}, artifacts=[artifact()])
    assert found.verdict is Verdict.REJECTED
    assert found.science is not None
    [violation] = found.science.domain_violations
    assert (violation.name, violation.value, violation.message) == ("mean_fitness", None, "it is no finite number")
    [held] = found.science.examination.reconciliation
    assert (held.status.value, held.claimed, held.severity) == ("mismatch", None, MismatchSeverity.CRITICAL)
    assert {each.code for each in found.science.reasons} == {"value_mismatch", "domain_violation"}
    assert canonical_bytes(found.model_dump(mode="json"))


@pytest.mark.parametrize("given_as", ["bytes", "path", "text of a path"])
async def test_the_consumers_own_data_count_and_not_the_agents_forged_ones(given_as: str, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text(CSV)
    content = {"bytes": CSV.encode(), "path": own, "text of a path": str(own)}[given_as]
    expected = criteria(criterion("stat.mean_fitness", "lt", 0))
    found = await judged(WRONG, data={"raw.csv": content}, artifacts=[artifact(FORGED)], expected=expected)
    assert found.verdict is Verdict.REJECTED
    assert found.science is not None
    (mismatch,) = found.science.value_mismatches
    assert mismatch.actual == pytest.approx(MEAN, rel=1e-9)
    assert mismatch.secret
    (feedback,) = found.criterion_results
    assert (feedback.met, feedback.secret, feedback.provenance) == (True, True, Provenance.COMPUTED)


async def test_content_in_base64_is_read_as_it_is() -> None:
    coded = artifact() | {"content": None, "content_base64": b64encode(CSV.encode()).decode()}
    assert (await judged(HONEST, artifacts=[coded])).verdict is Verdict.PASSED


async def test_consumers_data_that_cannot_be_read_leave_no_verdict() -> None:
    found = await judged(HONEST, data={"raw.csv": b"PK\x03\x04"})
    assert found.verdict is Verdict.INDETERMINATE


async def test_an_upload_is_nothing_that_can_be_looked_up_here() -> None:
    uploaded = {"name": "scores.csv", "media_type": "text/csv", "sha256": "a" * 64}
    with pytest.raises(UnusableFile, match=r"scores\.csv.*digest of an upload.*content"):
        await judged(HONEST, artifacts=[uploaded])


@pytest.mark.parametrize(
    ("named", "given", "expected_message"),
    [
        ({"name": "raw.csv"}, {}, "names raw.csv"),
        ({"name": "raw.csv"}, {"raw.csv": Path("/nowhere/raw.csv")}, "raw.csv: /nowhere/raw.csv cannot be read"),
        ({"name": "raw.csv", "sha256": "b" * 64}, {"raw.csv": CSV.encode()}, f"the work's data have {'b' * 64}"),
    ],
)
async def test_data_that_are_missing_or_not_the_ones_that_are_meant_are_refused(
    named: Any, given: Any, expected_message: str
) -> None:
    with pytest.raises(UnusableFile, match=expected_message):
        await judged(HONEST, science(data=[named]), data=given)


async def test_data_with_the_digest_that_the_work_names_are_taken() -> None:
    named = {"name": "raw.csv", "sha256": hashlib.sha256(CSV.encode()).hexdigest()}
    assert (await judged(HONEST, science(data=[named]), data={"raw.csv": CSV.encode()})).verdict is Verdict.PASSED


async def test_the_text_of_a_claim_is_kept_on_its_way_into_the_worker() -> None:
    exact = science(statistics=[{**MEAN_SPEC, "tolerance": 0.0}])
    data = [artifact(csv_of(-0.394, -0.392))]  # a mean of -0.393, which rounds to -0.39 and not to -0.390
    assert (await judged({"mean_fitness": JsonFloat("-0.39")}, exact, artifacts=data)).success
    assert not (await judged({"mean_fitness": JsonFloat("-0.390")}, exact, artifacts=data)).success


async def reviewed(reader: ScriptedReviewer, claims: dict[str, float]) -> VerificationResult:
    engine = VerificationEngine(clock=Still(), reviewer=reader)
    return await judged(claims, REVIEWED, artifacts=[artifact()], engine=engine, reasoning="I averaged them.")


async def test_a_reviewer_who_always_accepts_does_not_make_a_critical_mismatch_pass() -> None:
    reader = ScriptedReviewer()
    assert (await reviewed(reader, WRONG)).verdict is Verdict.REJECTED
    assert (await reviewed(reader, HONEST)).verdict is Verdict.PASSED
    assert reader.briefs[0].reasoning == "I averaged them."
    assert reader.briefs[0].claims == WRONG


async def test_no_judge_is_called_where_the_work_demands_no_review() -> None:
    reader = ScriptedReviewer()
    engine = VerificationEngine(clock=Still(), reviewer=reader)
    await judged(HONEST, artifacts=[artifact()], engine=engine)
    assert reader.briefs == []
