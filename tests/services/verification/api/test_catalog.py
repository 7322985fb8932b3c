from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from aex_models.domains import Domain
from aex_verification.api.catalog import MAX_CHARACTERS, MAX_COLUMNS
from tests.parts.verification import VerificationBench
from tests.services.verification.api.test_contracts import counter
from tests.services.verification.listening import application

NAMES = ["bioinformatics/DMS", "bioinformatics/RNAseq", "molecular-dynamics", "statistics/correlation"]


@asynccontextmanager
async def caller(role: str = "agent") -> AsyncIterator[httpx.AsyncClient]:
    async with counter(VerificationBench()) as client:
        client.headers["Authorization"] = f"Bearer {role}:reader"
        yield client


async def test_any_token_reads_full_domains() -> None:
    async with counter(VerificationBench()) as client:
        assert (await client.get("/v1/domains")).status_code == 401
    async with caller("service") as client:
        assert (await client.get("/v1/domains")).status_code == 200
    async with caller() as client:
        page = (await client.get("/v1/domains")).json()
        one = await client.get("/v1/domains/molecular-dynamics")
    items = page["items"]
    assert page == {"items": items, "next_cursor": None}
    assert one.json() == items[2]
    assert one.json()["value_ranges"]["rmsd"]["unit"] == "Å"
    assert [Domain.model_validate(each).name for each in items] == NAMES


async def test_name_or_alias_may_have_a_plain_or_encoded_slash() -> None:
    async with caller() as client:
        for name in (
            "bioinformatics/RNAseq",
            "bioinformatics%2FRNAseq",
            "bioinformatics%2fRNAseq",
            "genomics%2FRNAseq",
        ):
            answer = await client.get(f"/v1/domains/{name}")
            assert (answer.status_code, answer.json()["name"]) == (200, "bioinformatics/RNAseq"), name


async def test_unknown_domain_is_a_404_that_names_the_list() -> None:
    async with caller() as client:
        for name in ("bioinformatics", "bioinformatics/dms", "infer", "x%00", "..%2F..%2Fetc", "%F0%9F%A7%AC"):
            answer = await client.get(f"/v1/domains/{name}")
            assert (answer.status_code, answer.json()["code"]) == (404, "domain_not_found"), name
            assert "GET /v1/domains" in answer.json()["detail"]


async def infer(client: httpx.AsyncClient, body: Any) -> httpx.Response:
    return await client.post("/v1/domains/infer", json=body)


async def test_guess_has_its_scores() -> None:
    guesses: list[tuple[dict[str, Any], str | None, dict[str, float]]] = [
        ({"text": "Deep mutational fitness", "columns": ["mut_score"]}, NAMES[0], {NAMES[0]: 2.0}),
        ({"columns": ["", "rmsd"]}, NAMES[2], {NAMES[2]: 1.0}),
        ({"text": "traffic amber"}, None, {}),
        ({"text": "pearson of rmsd", "columns": []}, None, {NAMES[2]: 1.0, NAMES[3]: 1.0}),
        ({}, None, {}),
    ]
    async with caller() as client:
        for body, domain, scores in guesses:
            answer = await infer(client, body)
            assert (answer.status_code, answer.json()) == (200, {"domain": domain, "scores": scores})


async def test_wrong_shapes_and_excess_are_refused_with_pointers() -> None:
    columns, text = ["c"] * MAX_COLUMNS, "rmsd " * ((MAX_CHARACTERS - MAX_COLUMNS) // 5)
    wrong: list[tuple[Any, list[str]]] = [
        ({"text": 5}, ["/text"]),
        ({"text": None}, ["/text"]),
        ({"columns": "rmsd"}, ["/columns"]),
        ({"columns": ["a", 5, "", None]}, ["/columns/1", "/columns/3"]),
        ({"title": "x"}, ["/title"]),
        ([], [""]),
    ]
    async with caller() as client:
        for body, pointers in wrong:
            answer = await infer(client, body)
            assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, pointers)
        assert (await infer(client, {"text": text, "columns": columns})).json()["domain"] == "molecular-dynamics"
        for body in ({"text": f"{text}x", "columns": columns}, {"columns": ["x" * (MAX_CHARACTERS + 1)]}):
            answer = await infer(client, body)
            assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "too_long")
        assert (await infer(client, {"columns": [*columns, "c"]})).status_code == 422


def test_document_describes_domains() -> None:
    document = application(VerificationBench()).openapi()
    answers = document["paths"]["/v1/domains"]["get"]["responses"]
    schema = answers["200"]["content"]["application/json"]["schema"]
    assert schema["$ref"] == "#/components/schemas/DomainPage"
    page = document["components"]["schemas"]["DomainPage"]["properties"]
    assert page["items"]["items"] == {"$ref": "#/components/schemas/Domain"}
