"""`POST /v1/verify` with science: examined like a contract's candidate, and nothing left behind."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from aex_models.contract import Candidate
from aex_models.science import ReviewFailure
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_outcomes.science.review.port import ReviewBrief, Reviewed
from aex_verification.api.verify import SCIENCE_OF_ONE
from aex_verification.rules.claims import MAX_CLAIMS
from tests.parts.reviewing import ScriptedReviewer
from tests.parts.verification import VerificationBench
from tests.services.verification.examined import (
    DMS,
    REVIEWED,
    science,
    table,
)
from tests.services.verification.test_contracts_api import counter
from tests.services.verification.test_verify_api import CRITERION, verify

BODY: dict[str, Any] = {
    "success_criteria": {"criteria": [CRITERION]},
    "science": science(domain=DMS),
    "output": {"text": "a b c"},
    "claimed_values": {"mean_fitness": -0.4},
    "artifacts": [table()],
}


async def answered(body: Any, bench: VerificationBench | None = None) -> httpx.Response:
    async with counter(bench or VerificationBench()) as client:
        return await verify(client, body)


async def test_an_honest_claim_passes_and_an_absurd_one_does_not() -> None:
    honest = (await answered(BODY)).json()
    assert (honest["verdict"], honest["science"]["passed"]) == ("passed", True)
    absurd = (await answered(BODY | {"claimed_values": {"mean_fitness": 11.17}})).json()
    assert (absurd["verdict"], absurd["science"]["passed"]) == ("rejected", False)
    assert absurd["science"]["value_mismatches"][0]["severity"] == "critical"


async def test_the_candidates_hash_is_that_of_an_attempt_with_the_same_claims() -> None:
    candidate = {name: BODY[name] for name in ("output", "claimed_values", "artifacts")}
    expected = candidate_hash(Candidate.model_validate(candidate))
    assert (await answered(BODY)).json()["candidate_hash"] == expected


async def test_the_consumers_own_data_inline_are_trusted_before_the_candidates() -> None:
    forged = table("mutant,mut_score\nA1C,-3\n")
    consistent = {"metric": "values_consistent", "metric_type": "boolean", "comparison": "eq", "threshold": True}
    body = BODY | {"success_criteria": {"criteria": [consistent]}, "artifacts": [forged]}
    alone = (await answered(body | {"claimed_values": {"mean_fitness": -3}})).json()
    assert (alone["verdict"], alone["provenance"]["values_consistent"]) == ("passed", "self_reported")
    for claim, verdict in ((-3, "rejected"), (-0.4, "passed")):
        told = (
            await answered(body | {"claimed_values": {"mean_fitness": claim}, "data": [table(name="own.csv")]})
        ).json()
        assert (told["verdict"], told["provenance"]["values_consistent"]) == (verdict, "computed")


async def test_the_works_domain_counts_where_science_names_none() -> None:
    wanted = BODY | {"science": science(checks=["value_ranges"]), "claimed_values": {"mean_fitness": 11.17}}
    for domain, named in ((DMS, ["mean_fitness"]), ("general", [])):
        told = (await answered(wanted | {"domain": domain})).json()["science"]
        assert [each["name"] for each in told["domain_violations"]] == named


async def test_null_is_taken_as_a_claim_and_is_a_violation_and_other_things_are_none() -> None:
    told = (await answered(BODY | {"claimed_values": {"mean_fitness": None}})).json()
    assert told["verdict"] == "rejected"
    [violation] = told["science"]["domain_violations"]
    assert (violation["name"], violation["value"]) == ("mean_fitness", None)
    assert {each["code"] for each in told["science"]["reasons"]} == {"value_mismatch", "domain_violation"}
    others: tuple[Any, ...] = ("1", True, [1], {})
    for claim in others:
        assert (await answered(BODY | {"claimed_values": {"mean_fitness": claim}})).status_code == 422


async def test_no_file_and_no_record_is_kept() -> None:
    bench = VerificationBench()
    await answered(BODY, bench)
    assert bench.events == []
    assert await bench.timers() == []


async def test_a_review_that_cannot_be_had_is_an_indeterminate_verdict() -> None:
    for failure in ReviewFailure:
        bench = VerificationBench()
        bench.rewire(replace(bench.deps, reviewer=ScriptedReviewer(failure)))
        answer = await answered(BODY | {"science": science(domain=DMS, checks=REVIEWED)}, bench)
        assert (answer.status_code, answer.json()["verdict"]) == (200, "indeterminate")


async def test_a_review_is_asked_for_only_where_there_is_a_reviewer() -> None:
    wanted = BODY | {"science": science(domain=DMS, checks=REVIEWED)}
    assert (await answered(wanted)).status_code == 400
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, reviewer=ScriptedReviewer()))
    assert (await answered(wanted, bench)).json()["verdict"] == "passed"


async def test_an_examination_that_breaks_down_is_told_as_a_busy_service_is() -> None:
    bench = VerificationBench()
    bench.examiner.breaks = lambda: True
    answer = await answered(BODY, bench)
    assert (answer.status_code, answer.json()["code"]) == (503, "verifier_busy")
    assert answer.headers["Retry-After"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"claimed_values": {f"n{place}": 1 for place in range(MAX_CLAIMS + 1)}}, "/claimed_values"),
        ({"science": science(data=[{"name": "own.csv", "sha256": "0" * 64}])}, "/science/data"),
        ({"artifacts": [{"name": "a.csv", "media_type": "text/csv", "sha256": "0" * 64}]}, "/artifacts/0/sha256"),
        ({"data": [{"name": "a.csv", "media_type": "text/csv", "sha256": "0" * 64}]}, "/data/0/sha256"),
    ],
)
async def test_what_cannot_be_examined_here_is_refused_with_its_path(change: dict[str, Any], path: str) -> None:
    answer = await answered(BODY | change)
    assert answer.status_code == 400
    assert path in [each["path"] for each in answer.json()["errors"]]


async def test_one_consumer_has_so_many_examined_at_once_and_no_more() -> None:
    bench = VerificationBench()
    codes: list[int] = []

    class Waiting(ScriptedReviewer):
        """Asks for one more while so many are under way."""

        async def review(self, brief: ReviewBrief) -> Reviewed:
            reviewed = await super().review(brief)
            if len(self.briefs) <= SCIENCE_OF_ONE:
                codes.append((await verify(client, wanted)).status_code)
            return reviewed

    bench.rewire(replace(bench.deps, reviewer=Waiting()))
    wanted = BODY | {"science": science(domain=DMS, checks=REVIEWED)}
    async with counter(bench) as client:
        await verify(client, wanted)
    assert sorted(codes) == [200, 429]
