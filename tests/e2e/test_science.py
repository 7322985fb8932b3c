"""Claims compared with raw data and domain, end to end: wrong ones are not paid, right ones are."""

import csv
import io
import json
import random
import statistics
from typing import Any

import pytest

from aex_models.work import FeedbackLevel
from tests.e2e.conftest import EMBEDDED_ALONE
from tests.e2e.holds import answers, decided, waiting_hold
from tests.e2e.jobs import amounts, eventually, until_settled, until_status
from tests.e2e.parties import Parties
from tests.e2e.science import (
    CONSISTENT,
    DMS,
    MEAN,
    PLAUSIBLE,
    SECRET,
    TABLE,
    TRUTH,
    answers_to,
    artifact,
    claim,
    claimed,
    dms_csv,
    science_contract,
    science_of,
    science_work,
    scores,
    upload,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ABSURD = 11.17
"""Value in the plot; the data give about -0.4."""


def test_a_mean_of_11_17_over_data_of_about_minus_0_4_does_not_pass(parties: Parties) -> None:
    contract_id = science_contract(parties)
    attempt = claim(parties, contract_id, {"mean_fitness": ABSURD}, artifact(TABLE))
    assert (attempt["status"], attempt["verdict"], attempt["counted"]) == ("judged", "rejected", True)
    found = science_of(parties.operator, contract_id, attempt["attempt_id"])
    assert found["passed"] is False
    [mismatch] = found["value_mismatches"]
    assert (mismatch["name"], mismatch["claimed"], mismatch["severity"]) == ("mean_fitness", ABSURD, "critical")
    assert mismatch["actual"] == pytest.approx(TRUTH, rel=1e-9)
    [violation] = found["domain_violations"]
    assert (violation["name"], violation["value"]) == ("mean_fitness", ABSURD)
    assert (violation["min"], violation["max"]) == (-5, 2)


def test_the_honest_claim_passes_and_is_paid_with_its_bonus(parties: Parties) -> None:
    contract_id = science_contract(parties)
    assert claim(parties, contract_id, {"mean_fitness": claimed(TRUTH)}, artifact(TABLE))["verdict"] == "passed"
    until_status(parties.agent, contract_id, "passed")
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.40", "0.45", "0.00", "0.85")
    outcome = parties.consumer.read("verification", f"/v1/outcomes/{contract_id}")
    assert outcome["verification_result"]["science"]["passed"] is True


def test_after_an_absurd_claim_an_honest_one_can_still_pass(parties: Parties) -> None:
    contract_id = science_contract(parties)
    assert claim(parties, contract_id, {"mean_fitness": ABSURD}, artifact(TABLE))["verdict"] == "rejected"
    assert claim(parties, contract_id, {"mean_fitness": claimed(TRUTH)}, artifact(TABLE))["verdict"] == "passed"
    assert until_status(parties.agent, contract_id, "passed")["attempts_used"] == 2


def test_a_claim_of_exactly_zero_over_data_with_mean_zero_passes(parties: Parties) -> None:
    table = dms_csv([0.1, 0.2, 0.3, -0.1, -0.2, -0.3])
    contract_id = science_contract(parties)
    assert claim(parties, contract_id, {"mean_fitness": 0}, artifact(table))["verdict"] == "passed"
    other = science_contract(parties)
    assert claim(parties, other, {"mean_fitness": 0}, artifact(TABLE))["verdict"] == "rejected"


def test_how_many_decimals_a_claim_has_is_part_of_it_however_it_was_stored(parties: Parties) -> None:
    table = dms_csv([0.496, 0.496])
    contract_id = science_contract(parties, {"statistics": [{**MEAN, "tolerance": 0.001}]})
    assert claim(parties, contract_id, {"mean_fitness": 0.5}, artifact(table))["verdict"] == "rejected"
    other = science_contract(parties, {"statistics": [{**MEAN, "tolerance": 0.001}]})
    body = json.dumps({"output": "x", "claimed_values": {"mean_fitness": "TEXT"}, "artifacts": [artifact(table)]})
    path = f"/v1/contracts/{other}/outputs?wait_s=30"
    answer = parties.agent.raw("verification", path, body.replace('"TEXT"', "0.50"))
    assert answer.json()["verdict"] == "passed", answer.text


def forged() -> dict[str, Any]:
    """The agent's own file, in which the claim is right."""
    return artifact(dms_csv([1.5, 1.6, 1.7]))


def test_the_consumers_own_data_beat_a_forged_artifact(parties: Parties) -> None:
    digest = upload(parties.consumer, "work-publisher", TABLE.encode())
    own = {"data": [{"name": "scores.csv", "sha256": digest}]}
    contract_id = science_contract(parties, own)
    attempt = claim(parties, contract_id, {"mean_fitness": 1.6}, forged())
    assert attempt["verdict"] == "rejected"
    found = science_of(parties.operator, contract_id, attempt["attempt_id"])
    assert [(each["name"], each["severity"]) for each in found["value_mismatches"]] == [("mean_fitness", "critical")]
    assert found["examination"]["recomputed"][0]["owner"] == "consumer"
    assert claim(parties, contract_id, {"mean_fitness": claimed(TRUTH)}, forged())["verdict"] == "passed"
    until_status(parties.agent, contract_id, "passed")
    result = parties.consumer.read("verification", f"/v1/outcomes/{contract_id}")["verification_result"]
    assert result["provenance"]["values_consistent"] == "computed"


def test_an_uploaded_artifact_serves_as_one_that_is_sent_along(parties: Parties) -> None:
    digest = upload(parties.agent, "verification", TABLE.encode())
    contract_id = science_contract(parties)
    file = {"name": "scores.csv", "media_type": "text/csv", "sha256": digest}
    assert claim(parties, contract_id, {"mean_fitness": claimed(TRUTH)}, file)["verdict"] == "passed"


def genes(seed: int = 7, rows: int = 2_000) -> tuple[str, int]:
    """A table of genes, and how many of them have |log2FC| > 2 and FDR < 0.05, counted here."""
    dice = random.Random(seed)
    table, written = io.StringIO(), [("gene", "log2FC", "FDR")]
    written += [(f"g{location}", f"{dice.gauss(0, 2):.4f}", f"{dice.random():.4f}") for location in range(rows)]
    csv.writer(table).writerows(written)
    counted = sum(abs(float(change)) > 2 and float(fdr) < 0.05 for _, change, fdr in written[1:])
    return table.getvalue(), counted


def test_genes_with_a_large_change_and_a_small_fdr_are_counted_by_one_specification(parties: Parties) -> None:
    table, counted = genes()
    spec = {
        "name": "significant_genes",
        "stat": "count",
        "where": [
            {"column": "log2FC", "op": ">", "value": 2, "abs": True},
            {"column": "FDR", "op": "<", "value": 0.05},
        ],
        "tolerance": 0,
    }
    many = {
        "metric": "stat.significant_genes",
        "metric_type": "count",
        "comparison": "eq",
        "threshold": counted,
        "bonus": "0.45",
    }
    changes = {"domain": "bioinformatics/RNAseq", "success_criteria": {"criteria": [CONSISTENT | {"bonus": "0"}, many]}}
    contract_id = science_contract(parties, {"statistics": [spec]}, **changes)
    wrong = claim(parties, contract_id, {"significant_genes": counted + 1}, artifact(table, "genes.csv"))
    assert wrong["verdict"] == "rejected"
    right = claim(parties, contract_id, {"significant_genes": counted}, artifact(table, "genes.csv"))
    assert right["verdict"] == "passed"


def test_the_last_attempt_with_an_absurd_claim_is_held_with_flags_that_say_why(parties: Parties) -> None:
    contract_id = science_contract(parties, verification={"max_attempts": 1})
    claim(parties, contract_id, {"mean_fitness": ABSURD}, artifact(TABLE))
    until_status(parties.agent, contract_id, "held")
    hold = waiting_hold(parties.operator, contract_id)
    assert hold["cause"] == "fraud_suspected"
    flags = {each["rule"]: each for each in hold["flags"]}
    assert {rule: each["severity"] for rule, each in flags.items()} == {
        "claimed_value_mismatch": "critical",
        "domain_violation": "critical",
    }
    [reported] = flags["claimed_value_mismatch"]["evidence"]["mismatches"]
    assert (reported["name"], reported["claimed"]) == ("mean_fitness", ABSURD)
    assert reported["recomputed"] == pytest.approx(TRUTH, rel=1e-9)
    assert "mean_fitness" in str(flags["domain_violation"]["evidence"])
    for reader in (parties.agent, parties.consumer):
        assert not [seen for seen in answers(reader, contract_id) if '"evidence"' in seen or "claimed_value_m" in seen]
    decided(parties.operator, hold, "reject")
    until_status(parties.agent, contract_id, "failed")
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.00", "0.00", "0.00", "0.00")


def test_missing_claims_do_not_pass(parties: Parties) -> None:
    contract_id = science_contract(parties)
    attempt = claim(parties, contract_id, {"something_else": 1.0}, artifact(TABLE))
    assert attempt["verdict"] == "rejected"
    found = science_of(parties.operator, contract_id, attempt["attempt_id"])
    assert "statistic_not_claimed" in {each["code"] for each in found["reasons"]}


@EMBEDDED_ALONE
@pytest.mark.parametrize("level", FeedbackLevel)
def test_secrets_and_consumer_data_reach_no_agent(parties: Parties, level: FeedbackLevel) -> None:
    digest = upload(parties.consumer, "work-publisher", TABLE.encode())
    mean = {"metric": "stat.mean_fitness", "metric_type": "numeric", "comparison": "lte", "threshold": 0}
    contract_id = science_contract(
        parties,
        {"data": [{"name": "scores.csv", "sha256": digest}]},
        success_criteria={"criteria": [CONSISTENT, PLAUSIBLE, mean]},
        verification={"feedback": level.value, "max_attempts": 2},
    )
    claim(parties, contract_id, {"mean_fitness": ABSURD}, forged())
    under_way = parties.agent.read("verification", f"/v1/contracts/{contract_id}")
    claim(parties, contract_id, {"mean_fitness": claimed(TRUTH, 2)}, forged())
    until_settled(parties.finance, contract_id)
    reported = {"last_feedback": json.dumps(under_way), **answers_to(parties.agent, contract_id)}
    secrets, figures = [SECRET, digest], [repr(abs(each))[:6] for each in (TRUTH, (ABSURD - TRUTH) / TRUTH)]
    if level is not FeedbackLevel.FULL:
        secrets += figures
    assert [(secret, location) for secret in secrets for location, text in reported.items() if secret in text] == []
    for location in ("attempts", "outcome", "export jsonl"):
        assert contract_id in reported[location], "there was something to tell"
    seen = parties.operator.get("verification", f"/v1/contracts/{contract_id}/attempts").text
    assert [figure for figure in figures if figure not in seen] == []
    work_id = under_way["work_id"]
    assert SECRET in parties.consumer.get("work-publisher", f"/v1/work/{work_id}").text


def test_a_trial_without_a_contract_examines_claims_and_stores_nothing(parties: Parties) -> None:
    work = science_work()
    body = {"success_criteria": work["success_criteria"], "science": {**work["science"], "domain": DMS}}
    candidate = {"output": "x", "claimed_values": {"mean_fitness": ABSURD}, "artifacts": [artifact(TABLE)]}
    answer = parties.consumer.post("verification", "/v1/verify", body | candidate)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["verdict"], answer.json()["science"]["passed"]) == ("rejected", False)
    assert answer.json()["science"]["value_mismatches"][0]["severity"] == "critical"
    honest = candidate | {"claimed_values": {"mean_fitness": claimed(TRUTH)}}
    assert parties.consumer.post("verification", "/v1/verify", body | honest).json()["verdict"] == "passed"
    assert parties.consumer.read("verification", "/v1/contracts")["items"] == []


def test_work_with_unusable_own_data_is_open_with_a_warning(parties: Parties) -> None:
    digest = upload(parties.consumer, "work-publisher", b"mutant;mut_score\nA1C;0.1\n")
    body = science_work({"data": [{"name": "scores.csv", "sha256": digest}]})
    answer = parties.consumer.post("work-publisher", "/v1/work", body)
    assert (answer.status_code, answer.json()["status"]) == (201, "open"), answer.text

    def look() -> list[str] | None:
        seen = parties.consumer.read("work-publisher", f"/v1/work/{answer.json()['work_id']}")
        assert seen["status"] == "open"
        return [each["code"] for each in seen.get("warnings") or ()] or None

    assert "wrong_delimiter" in eventually(look, what="the warnings")


def test_statistics_agree_with_python_for_every_default_of_the_domain(parties: Parties) -> None:
    values = scores(5)
    contract_id = science_contract(parties, {"statistics": []})
    right = {
        "mean_fitness": statistics.fmean(values),
        "std_fitness": statistics.stdev(values),
        "min_fitness": min(values),
        "max_fitness": max(values),
    }
    attempt = claim(parties, contract_id, right, artifact(dms_csv(values)))
    assert attempt["verdict"] == "passed"
    until_status(parties.agent, contract_id, "passed")
    found = science_of(parties.operator, contract_id, attempt["attempt_id"])["examination"]["recomputed"]
    recomputed = {each["name"]: each["value"] for each in found}
    assert {name: recomputed[name] for name in right} == pytest.approx(right, rel=1e-9)
