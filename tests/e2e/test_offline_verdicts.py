"""Verdicts of `aex verify` for the demo's contracts equal those of the running suite."""

import json
from pathlib import Path
from typing import Any

import pytest

import aex_cli.examples
from aex_cli.main import run_command_line
from aex_cli.offline.documents import read_document
from tests.e2e.jobs import award, eventually
from tests.e2e.parties import Parties

pytestmark = pytest.mark.e2e
FOLDER = Path(aex_cli.examples.__file__).parent
DELIVERIES = {
    "summary": [("first_draft.json", "rejected", 1), ("revision.json", "passed", 0)],
    "digits": [("predictions.json", "passed", 0)],
}
OWN_OF_TRIAL = {"verification_id", "verified_at"}
OWN = OWN_OF_TRIAL | {"contract_id", "governance"}
"""Fields in which two verifications of a candidate may differ; only the suite calls governance."""


def content(name: str) -> Any:
    return read_document("--work", str(FOLDER / name)).value


def offline(work: str, output: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """The exit code and the result of `aex verify`."""
    files = {"criteria": "criteria.yaml", "work": "work.json", "output": output, "metadata": "metadata.json"}
    options = [part for option, file in files.items() for part in (f"--{option}", str(FOLDER / work / file))]
    code = run_command_line(["verify", *options, "--json"])
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


def result_of_trial(parties: Parties, work: str, output: str) -> dict[str, Any]:
    """The result of `POST /v1/verify`, without the fields of one verification."""
    given = content(f"{work}/work.json")
    body = {
        "success_criteria": content(f"{work}/criteria.yaml"),
        "input": given["input"],
        "evaluation": given["evaluation"],
        "output": content(f"{work}/{output}"),
        "execution_metadata": content(f"{work}/metadata.json"),
    }
    answer = parties.consumer.post("verification", "/v1/verify", body)
    assert answer.status_code == 200, answer.text
    return {name: value for name, value in answer.json().items() if name not in OWN_OF_TRIAL}


@pytest.mark.parametrize("work", DELIVERIES)
def test_verdicts_offline_in_trial_and_suite_are_equal(
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
        assert result_of_trial(parties, work, output) == {
            name: value for name, value in result.items() if name not in OWN_OF_TRIAL
        }
