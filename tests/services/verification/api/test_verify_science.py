from dataclasses import replace
from typing import Any

import httpx
import pytest

from aex_models.contract import Candidate
from aex_models.science import ReviewFailure
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.science.peer_review_port import ReviewBrief, Reviewed
from aex_verification.api.verify import MAX_SCIENCE_PER_CONSUMER
from aex_verification.rules.candidates import MAX_CLAIMS
from tests.parts.reviewing import ScriptedReviewer
from tests.parts.verification import VerificationBench
from tests.services.verification.api.test_contracts import counter
from tests.services.verification.api.test_verify import CRITERION, verify
from tests.services.verification.examined import DMS, REVIEWED, science, table

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


async def test_honest_claim_passes_and_absurd_one_fails() -> None:
    bench = VerificationBench()
    honest = (await answered(BODY, bench)).json()
    candidate = {name: BODY[name] for name in ("output", "claimed_values", "artifacts")}
    assert honest["candidate_hash"] == candidate_hash(Candidate.model_validate(candidate))
    assert (bench.events, await bench.timers()) == ([], [])
    assert (honest["verdict"], honest["science"]["passed"]) == ("passed", True)
    absurd = (await answered(BODY | {"claimed_values": {"mean_fitness": 11.17}})).json()
    assert (absurd["verdict"], absurd["science"]["passed"]) == ("rejected", False)
    assert absurd["science"]["value_mismatches"][0]["severity"] == "critical"


async def test_inline_consumer_data_win_over_artifacts() -> None:
    forged = table("mutant,mut_score\nA1C,-3\n")
    consistent = {"metric": "values_consistent", "metric_type": "boolean", "comparison": "eq", "threshold": True}
    body = BODY | {"success_criteria": {"criteria": [consistent]}, "artifacts": [forged]}
    alone = (await answered(body | {"claimed_values": {"mean_fitness": -3}})).json()
    assert (alone["verdict"], alone["provenance"]["values_consistent"]) == ("passed", "self_reported")
    for claim, verdict in ((-3, "rejected"), (-0.4, "passed")):
        reported = (
            await answered(body | {"claimed_values": {"mean_fitness": claim}, "data": [table(name="own.csv")]})
        ).json()
        assert (reported["verdict"], reported["provenance"]["values_consistent"]) == (verdict, "computed")


async def test_domain_of_the_work_is_the_default() -> None:
    request_body = BODY | {"science": science(checks=["value_ranges"]), "claimed_values": {"mean_fitness": 11.17}}
    for domain, named in ((DMS, ["mean_fitness"]), ("general", [])):
        reported = (await answered(request_body | {"domain": domain})).json()["science"]
        assert [each["name"] for each in reported["domain_violations"]] == named


async def test_review_check_needs_a_reviewer_and_its_review_a_verdict() -> None:
    request_body = BODY | {"science": science(domain=DMS, checks=REVIEWED)}
    assert (await answered(request_body)).status_code == 400
    bench, verdicts = VerificationBench(), []
    for failure in (None, *ReviewFailure):
        bench.rewire(replace(bench.deps, reviewer=ScriptedReviewer(failure)))
        verdicts.append((await answered(request_body, bench)).json()["verdict"])
    assert verdicts == ["passed"] + ["indeterminate"] * len(ReviewFailure)


async def test_failed_examination_is_503() -> None:
    bench = VerificationBench()
    bench.examiner.breaks = lambda: True
    answer = await answered(BODY, bench)
    assert (answer.status_code, answer.json()["code"]) == (503, "verifier_busy")
    assert answer.headers["Retry-After"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"claimed_values": {"mean_fitness": "1"}}, "/claimed_values/mean_fitness"),
        ({"claimed_values": {f"n{place}": 1 for place in range(MAX_CLAIMS + 1)}}, "/claimed_values"),
        ({"science": science(data=[{"name": "own.csv", "sha256": "0" * 64}])}, "/science/data"),
        ({"artifacts": [{"name": "a.csv", "media_type": "text/csv", "sha256": "0" * 64}]}, "/artifacts/0/sha256"),
        ({"data": [{"name": "a.csv", "media_type": "text/csv", "sha256": "0" * 64}]}, "/data/0/sha256"),
    ],
)
async def test_unusable_input_is_refused_with_its_pointer(change: dict[str, Any], path: str) -> None:
    answer = await answered(BODY | change)
    assert answer.status_code == (422 if path == "/claimed_values/mean_fitness" else 400)
    assert path in [each["path"] for each in answer.json()["errors"]]


async def test_examinations_of_a_consumer_are_bounded() -> None:
    bench = VerificationBench()
    codes: list[int] = []

    class Waiting(ScriptedReviewer):
        """Asks for one more while so many are under way."""

        async def review(self, brief: ReviewBrief) -> Reviewed:
            reviewed = await super().review(brief)
            if len(self.briefs) <= MAX_SCIENCE_PER_CONSUMER:
                codes.append((await verify(client, request_body)).status_code)
            return reviewed

    bench.rewire(replace(bench.deps, reviewer=Waiting()))
    request_body = BODY | {"science": science(domain=DMS, checks=REVIEWED)}
    async with counter(bench) as client:
        await verify(client, request_body)
    assert sorted(codes) == [200, 429]
