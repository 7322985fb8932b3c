"""Scientific domains over the routes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from aex_models.audiences import Audience
from aex_models.domains import Domain
from aex_verification.api.domains import MAX_CHARACTERS, MAX_COLUMNS
from tests.parts.verification import VerificationBench
from tests.services.verification.test_contracts_api import counter

NAMES = ["bioinformatics/DMS", "bioinformatics/RNAseq", "molecular-dynamics", "statistics/correlation"]


@asynccontextmanager
async def caller(role: str = "agent") -> AsyncIterator[httpx.AsyncClient]:
    async with counter(VerificationBench()) as client:
        client.headers["Authorization"] = f"Bearer {role}:somebody"
        yield client


async def inferred(body: Any, **headers: str) -> httpx.Response:
    async with caller() as client:
        return await client.post("/v1/domains/infer", json=body, headers=headers)


@pytest.mark.parametrize("role", list(Audience))
async def test_everybody_with_a_token_reads_domains_whole(role: Audience) -> None:
    async with caller(role.value) as client:
        page = (await client.get("/v1/domains")).json()
        one = await client.get("/v1/domains/molecular-dynamics")
    items = page["items"]
    assert page == {"items": items, "next_cursor": None}
    assert [each["name"] for each in items] == NAMES
    assert one.json() == items[2]
    assert one.json()["value_ranges"]["rmsd"]["unit"] == "Å"
    assert [Domain.model_validate(each).name for each in items] == NAMES


async def test_who_has_no_token_is_told_nothing() -> None:
    async with counter(VerificationBench()) as client:
        answers = [await client.get("/v1/domains"), await client.get("/v1/domains/molecular-dynamics")]
        answers.append(await client.post("/v1/domains/infer", json={}))
    assert [each.status_code for each in answers] == [401, 401, 401]


@pytest.mark.parametrize(
    "name",
    [
        "bioinformatics/RNAseq",
        "bioinformatics%2FRNAseq",
        "bioinformatics%2fRNAseq",
        "genomics/RNAseq",
        "genomics%2FRNAseq",
    ],
)
async def test_a_name_or_alias_may_have_its_slash_as_it_is_or_encoded(name: str) -> None:
    async with caller() as client:
        answer = await client.get(f"/v1/domains/{name}")
    assert (answer.status_code, answer.json()["name"]) == (200, "bioinformatics/RNAseq")


@pytest.mark.parametrize(
    "name", ["bioinformatics", "bioinformatics/dms", "infer", "x%00", "..%2F..%2Fetc", "%F0%9F%A7%AC"]
)
async def test_a_domain_that_is_not_there_is_a_404_that_says_where_they_are_listed(name: str) -> None:
    async with caller() as client:
        answer = await client.get(f"/v1/domains/{name}")
    assert (answer.status_code, answer.json()["code"]) == (404, "domain_not_found")
    assert "GET /v1/domains" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "domain", "scores"),
    [
        ({"text": "Deep mutational fitness", "columns": ["mut_score"]}, NAMES[0], {NAMES[0]: 2.0}),
        ({"columns": ["", "rmsd"]}, NAMES[2], {NAMES[2]: 1.0}),
        ({"text": "traffic amber"}, None, {}),
        ({"text": "pearson of rmsd", "columns": []}, None, {NAMES[2]: 1.0, NAMES[3]: 1.0}),
        ({}, None, {}),
    ],
)
async def test_a_guess_comes_with_its_scores(body: Any, domain: str | None, scores: dict[str, float]) -> None:
    answer = await inferred(body)
    assert (answer.status_code, answer.json()) == (200, {"domain": domain, "scores": scores})


async def test_the_longest_input_is_read_and_a_longer_one_refused() -> None:
    columns = ["c"] * MAX_COLUMNS
    text = "rmsd " * ((MAX_CHARACTERS - MAX_COLUMNS) // 5)
    assert (await inferred({"text": text, "columns": columns})).json()["domain"] == "molecular-dynamics"
    for body in ({"text": f"{text}x", "columns": columns}, {"columns": ["x" * (MAX_CHARACTERS + 1)]}):
        answer = await inferred(body)
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "too_long")
    assert (await inferred({"columns": [*columns, "c"]})).status_code == 422


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({"text": 5}, ["/text"]),
        ({"text": None}, ["/text"]),
        ({"columns": "rmsd"}, ["/columns"]),
        ({"columns": ["a", 5, "", None]}, ["/columns/1", "/columns/3"]),
        ({"title": "x"}, ["/title"]),
        ([], [""]),
    ],
)
async def test_wrong_shapes_are_told_with_their_places(body: Any, places: list[str]) -> None:
    answer = await inferred(body)
    assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, places)


async def test_an_idempotency_key_is_taken_and_an_unusable_one_refused() -> None:
    assert (await inferred({"text": "rmsd"}, **{"Idempotency-Key": "k"})).status_code == 200
    assert (await inferred({"text": "rmsd"}, **{"Idempotency-Key": "x" * 256})).status_code == 400


async def test_the_document_says_what_each_domain_has() -> None:
    async with caller() as client:
        document = (await client.get("/openapi.json")).json()
    answers = document["paths"]["/v1/domains"]["get"]["responses"]
    schema = answers["200"]["content"]["application/json"]["schema"]
    assert schema["$ref"] == "#/components/schemas/DomainPage"
    page = document["components"]["schemas"]["DomainPage"]["properties"]
    assert page["items"]["items"] == {"$ref": "#/components/schemas/Domain"}
    assert "success_criteria" not in answers["400"]["description"]
