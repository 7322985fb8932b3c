"""`POST /v1/verify` with science: examined like a contract's candidate, and nothing left behind."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from aex_models.contract import Candidate
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_verification.api.verify import SCIENCE_OF_ONE
from aex_verification.rules.claims import MAX_CLAIMS
from tests.parts.verification import VerificationBench
from tests.services.verification.examined import (
    DMS,
    REVIEWED,
    ReviewerInHand,
    accepts,
    is_away,
    science,
    table,
    talks_nonsense,
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


async def test_no_file_and_no_record_is_kept() -> None:
    bench = VerificationBench()
    await answered(BODY, bench)
    assert bench.events == []
    assert await bench.timers() == []


async def test_a_review_that_cannot_be_had_is_an_indeterminate_verdict() -> None:
    for reviews in (talks_nonsense, is_away):
        bench = VerificationBench()
        bench.rewire(replace(bench.deps, reviewer=ReviewerInHand(reviews)))
        answer = await answered(BODY | {"science": science(domain=DMS, checks=REVIEWED)}, bench)
        assert (answer.status_code, answer.json()["verdict"]) == (200, "indeterminate")


async def test_a_review_is_asked_for_only_where_there_is_a_reviewer() -> None:
    wanted = BODY | {"science": science(domain=DMS, checks=REVIEWED)}
    assert (await answered(wanted)).status_code == 400
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, reviewer=ReviewerInHand(accepts)))
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
    ],
)
async def test_what_cannot_be_examined_here_is_refused_with_its_path(change: dict[str, Any], path: str) -> None:
    answer = await answered(BODY | change)
    assert answer.status_code == 400
    assert path in [each["path"] for each in answer.json()["errors"]]


async def test_one_consumer_has_so_many_examined_at_once_and_no_more() -> None:
    bench = VerificationBench()
    codes: list[int] = []

    class Waiting(ReviewerInHand):
        """Asks for one more while so many are under way."""

        async def review(self, brief: Any) -> Any:
            if len(self.shown) < SCIENCE_OF_ONE:
                self.shown.append(brief)
                codes.append((await verify(client, wanted)).status_code)
            return accepts(brief)

    bench.rewire(replace(bench.deps, reviewer=Waiting(accepts)))
    wanted = BODY | {"science": science(domain=DMS, checks=REVIEWED)}
    async with counter(bench) as client:
        await verify(client, wanted)
    assert sorted(codes) == [200, 429]
