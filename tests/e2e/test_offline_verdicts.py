"""Verdicts of `aex verify` for the demo's contracts equal those of the running suite."""

import json
from pathlib import Path
from typing import Any

import pytest

import aex_cli.examples
from aex_cli.main import call
from aex_cli.offline.documents import read_document
from tests.e2e.jobs import award, eventually
from tests.e2e.parties import Parties

pytestmark = pytest.mark.e2e
FOLDER = Path(aex_cli.examples.__file__).parent
DELIVERIES = {
    "summary": [("first_draft.json", "rejected", 1), ("revision.json", "passed", 0)],
    "digits": [("predictions.json", "passed", 0)],
}
OWN = {"verification_id", "contract_id", "verified_at", "governance"}
"""Fields in which two verifications of a candidate may differ; only the suite calls governance."""


def content(name: str) -> Any:
    return read_document("--work", str(FOLDER / name)).value


def offline(work: str, output: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """The exit code and the result of `aex verify`."""
    files = {"criteria": "criteria.yaml", "work": "work.json", "output": output, "metadata": "metadata.json"}
    options = [part for option, file in files.items() for part in (f"--{option}", str(FOLDER / work / file))]
    code = call(["verify", *options, "--json"])
    return code, json.loads(capsys.readouterr().out)


def in_the_suite(parties: Parties, work: str, outputs: list[str]) -> list[dict[str, Any]]:
    """The results of the deliveries of one contract, as the consumer who pays for it is shown them."""
    body = {**content(f"{work}/work.json"), "success_criteria": content(f"{work}/criteria.yaml")}
    published = parties.consumer.post("work-publisher", "/v1/work", body)
    assert published.status_code == 201, published.text
    contract_id = award(parties, published.json()["work_id"])
    for output in outputs:
        candidate = {"output": content(f"{work}/{output}"), "execution_metadata": content(f"{work}/metadata.json")}
        answer = parties.agent.post("verification", f"/v1/contracts/{contract_id}/outputs?wait_s=30", candidate)
        assert answer.status_code == 200, answer.text

    def verdict_lines() -> list[dict[str, Any]] | None:
        items = parties.consumer.read("verification", f"/v1/contracts/{contract_id}/attempts")["items"]
        return [each["result"] for each in items] if all(each.get("result") for each in items) else None

    return eventually(verdict_lines, what="the results of all attempts")


@pytest.mark.parametrize("work", DELIVERIES)
def test_the_verdicts_are_those_of_the_running_suite(
    parties: Parties, work: str, capsys: pytest.CaptureFixture[str]
) -> None:
    deliveries = DELIVERIES[work]
    results = in_the_suite(parties, work, [output for output, _, _ in deliveries])
    for (output, verdict, exit_code), live in zip(deliveries, results, strict=True):
        code, result = offline(work, output, capsys)
        assert (code, result["verdict"]) == (exit_code, verdict)
        assert {name: value for name, value in result.items() if name not in OWN} == {
            name: value for name, value in live.items() if name not in OWN
        }


@pytest.mark.parametrize("work", DELIVERIES)
def test_a_trial_over_the_network_says_the_same(
    parties: Parties, work: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = content(f"{work}/work.json")
    for output, _, _ in DELIVERIES[work]:
        body = {
            "success_criteria": content(f"{work}/criteria.yaml"),
            "input": given["input"],
            "evaluation": given["evaluation"],
            "output": content(f"{work}/{output}"),
            "execution_metadata": content(f"{work}/metadata.json"),
        }
        answer = parties.consumer.post("verification", "/v1/verify", body)
        assert answer.status_code == 200, answer.text
        own = {"verification_id", "verified_at"}
        result = offline(work, output, capsys)[1]
        assert {name: value for name, value in answer.json().items() if name not in own} == {
            name: value for name, value in result.items() if name not in own
        }
