import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from aex_models.canonical import sha256_hex
from aex_models.contract import MAX_INLINE_BYTES
from aex_models.governance import Party
from aex_verification.repository import ARTIFACT_USES
from tests.parts.verification import VerificationBench
from tests.services.verification.api.test_contracts import FREE, PAID, counter

CSV = b"mut_score\n-0.4\n"
NAME = sha256_hex(CSV)
UNKNOWN = "0" * 64
GOOD, SHORT = "one two three", "one"


@pytest.fixture
def bench() -> VerificationBench:
    return VerificationBench()


@pytest.fixture
async def client(bench: VerificationBench) -> AsyncIterator[httpx.AsyncClient]:
    async with counter(bench) as made:
        yield made


def by(caller: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {caller}"}


def named(*digests: str) -> list[dict[str, Any]]:
    return [{"name": f"{at}.csv", "media_type": "text/csv", "sha256": each} for at, each in enumerate(digests)]


async def upload(client: httpx.AsyncClient, caller: str = "agent:bot", content: bytes = CSV) -> None:
    answer = await client.put("/v1/artifacts", content=content, headers=by(caller))
    assert answer.status_code == 201, answer.text


async def post(client: httpx.AsyncClient, text: str, *digests: str, contract: str = "ctr_1") -> httpx.Response:
    body = {"output": {"text": text}, "artifacts": named(*digests)}
    return await client.post(f"/v1/contracts/{contract}/outputs", json=body, headers=by("agent:bot"))


async def read(client: httpx.AsyncClient, caller: str) -> httpx.Response:
    return await client.get(f"/v1/artifacts/{NAME}", headers=by(caller))


async def test_candidate_names_only_its_agents_uploads(bench: VerificationBench, client: httpx.AsyncClient) -> None:
    await bench.award()
    await upload(client, "agent:another-bot")
    strange = await post(client, GOOD, NAME)
    await upload(client)
    refused = await post(client, GOOD, NAME, UNKNOWN)
    taken = await post(client, GOOD, NAME)
    problems = [[(each["path"], each["code"]) for each in answer.json()["errors"]] for answer in (strange, refused)]
    assert (strange.status_code, refused.status_code, taken.status_code) == (400, 400, 202)
    assert problems == [[(f"/artifacts/{at}/sha256", "unknown_artifact")] for at in (0, 1)]
    assert refused.json()["code"] == "unknown_artifact"


async def test_consumer_reads_an_artifact_once_it_has_paid(bench: VerificationBench, client: httpx.AsyncClient) -> None:
    await bench.award(terms=PAID)
    await upload(client)
    assert (await read(client, "consumer:acme")).status_code == 404
    await post(client, GOOD, NAME)
    assert (await read(client, "consumer:acme")).status_code == 404
    await bench.deliver("output.submitted")
    paid = await read(client, "consumer:acme")
    assert (paid.status_code, paid.content) == (200, CSV)
    assert (await read(client, "agent:bot")).content == CSV
    for stranger in ("consumer:rival", "consumer:bot", "agent:acme", "agent:another-bot"):
        assert (await read(client, stranger)).status_code == 404, stranger


async def test_paid_contract_opens_an_artifact_for_its_consumer(
    bench: VerificationBench, client: httpx.AsyncClient
) -> None:
    await upload(client)
    for number in range(1, 5):
        consumer = Party(id="rival" if number == 4 else "acme")
        await bench.award(f"ctr_{number}", terms=FREE, verification={"max_attempts": 1}, consumer=consumer)
        await post(client, GOOD if number == 2 else SHORT, NAME, contract=f"ctr_{number}")
        await bench.deliver("output.submitted")
        assert (await read(client, "consumer:acme")).status_code == (404 if number == 1 else 200)
    assert (await read(client, "consumer:acme")).content == CSV
    assert (await read(client, "consumer:rival")).status_code == 404


async def test_use_is_committed_with_its_candidate(bench: VerificationBench, client: httpx.AsyncClient) -> None:
    await bench.award()
    await upload(client)
    first = (await post(client, GOOD, NAME)).json()["attempt_id"]
    busy = await post(client, SHORT, NAME)
    assert busy.status_code == 409
    uses = await ARTIFACT_USES.find(bench.store, {"consumer_id": "acme", "digest": NAME}, "used_at", "desc")
    assert [(each.record.contract_id, each.record.attempt_id) for each in uses] == [("ctr_1", first)]


async def test_all_problems_of_artifacts_are_reported_together(
    bench: VerificationBench, client: httpx.AsyncClient
) -> None:
    await bench.award()
    large = base64.b64encode(b"x" * (MAX_INLINE_BYTES + 1)).decode()
    artifacts = [
        {"name": "a.csv", "media_type": "text/csv", "content_base64": large},
        {"name": "a.csv", "media_type": "image/png", "content": "x"},
        {"name": "b.csv", "media_type": "text/csv", "sha256": UNKNOWN},
    ]
    body = {"output": {"text": GOOD}, "artifacts": artifacts}
    answer = await client.post("/v1/contracts/ctr_1/outputs", json=body, headers=by("agent:bot"))
    assert answer.status_code == 400
    assert {each["path"]: each["code"] for each in answer.json()["errors"]} == {
        "/artifacts/0/content_base64": "artifact_too_large",
        "/artifacts/1/name": "duplicate_name",
        "/artifacts/2/sha256": "unknown_artifact",
    }
    assert "PUT /v1/artifacts" in answer.text


async def test_repeated_upload_counts_each_time(bench: VerificationBench, client: httpx.AsyncClient) -> None:
    await bench.award()
    content = b"x\n" + b"1\n" * 15_000_000
    await upload(client, content=content)
    names = [sha256_hex(content)] * 17
    refused, taken = await post(client, GOOD, *names), await post(client, GOOD, *names[:16])
    assert (refused.status_code, refused.json()["code"]) == (400, "artifacts_too_large")
    assert taken.status_code == 202
