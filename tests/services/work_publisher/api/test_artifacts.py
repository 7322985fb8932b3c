"""A consumer's raw data: uploaded first, then named by a work."""

from typing import Any

import pytest

from aex_models.canonical import sha256_hex
from tests.services.work_publisher.over_http import Api
from tests.services.work_publisher.samples import ACME, RIVAL, submission

CSV = b"mut_score\n-0.4\n"
NAME = sha256_hex(CSV)
UNKNOWN = "0" * 64


def science(*digests: str) -> dict[str, Any]:
    return {"science": {"data": [{"name": f"{at}.csv", "sha256": digest} for at, digest in enumerate(digests)]}}


def printed(body: dict[str, Any], member: str) -> list[tuple[str, str]]:
    return [(each["path"], each["code"]) for each in body[member] if each["code"] == "unknown_artifact"]


async def test_work_names_uploads_of_its_consumer_only(api: Api) -> None:
    body = submission(**science(NAME, UNKNOWN))
    async with api.client(ACME) as acme, api.client(RIVAL) as rival:
        assert (await acme.put("/v1/artifacts", content=CSV)).status_code == 201
        refused, strange = [await each.post("/v1/work", json=body) for each in (acme, rival)]
        validated = (await acme.post("/v1/work/validate", json=body)).json()
        taken = await acme.post("/v1/work", json=submission(**science(NAME)))
    both = [("/science/data/0/sha256", "unknown_artifact"), ("/science/data/1/sha256", "unknown_artifact")]
    assert (refused.status_code, printed(refused.json(), "errors")) == (400, both[1:])
    assert (strange.status_code, printed(strange.json(), "errors")) == (400, both)
    assert (validated["valid"], printed(validated, "problems")) == (False, both[1:])
    assert taken.status_code == 201, taken.text
    assert "PUT /v1/artifacts" in refused.json()["detail"]


async def test_missing_uploads_are_listed_with_other_problems(api: Api) -> None:
    async with api.client(ACME) as acme:
        answer = await acme.post("/v1/work/validate", json=submission(title=7, **science(UNKNOWN)))
    paths = {each["path"] for each in answer.json()["problems"]}
    assert {"/title", "/science/data/0/sha256"} <= paths


@pytest.mark.parametrize("data", [7, {}, [7], [{"name": "a.csv", "sha256": 7}], [{"name": "a.csv", "sha256": "x"}]])
async def test_malformed_data_is_a_shape_problem_only(api: Api, data: Any) -> None:
    async with api.client(ACME) as acme:
        answer = await acme.post("/v1/work", json=submission(science={"data": data}))
    assert answer.status_code in {400, 422}
    assert printed(answer.json(), "errors") == []


async def test_repeat_has_the_same_work_and_data(api: Api) -> None:
    async with api.client(ACME) as acme:
        await acme.put("/v1/artifacts", content=CSV)
        body, headers = submission(**science(NAME)), {"Idempotency-Key": "once"}
        first, repeated = [await acme.post("/v1/work", json=body, headers=headers) for _ in range(2)]
    assert (first.status_code, repeated.json()) == (201, first.json())


async def test_upload_is_visible_to_its_consumer_only(api: Api) -> None:
    async with api.client(ACME) as acme, api.client(RIVAL) as rival:
        await acme.put("/v1/artifacts", content=CSV)
        assert (await acme.get(f"/v1/artifacts/{NAME}")).content == CSV
        assert (await rival.get(f"/v1/artifacts/{NAME}")).status_code == 404


async def test_repeated_files_count_repeatedly(api: Api) -> None:
    content = b"x\n" + b"1\n" * 26_000_000
    name = sha256_hex(content)
    async with api.client(ACME) as acme:
        assert (await acme.put("/v1/artifacts", content=content)).status_code == 201
        refused = await acme.post("/v1/work/validate", json=submission(**science(*[name] * 10)))
        taken = await acme.post("/v1/work/validate", json=submission(**science(*[name] * 9)))
    assert [each["code"] for each in refused.json()["problems"]] == ["data_too_large"]
    assert taken.json()["valid"]
