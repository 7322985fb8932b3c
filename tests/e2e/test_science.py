"""Claims compared with raw data and domain, end to end: wrong ones are not paid, right ones are."""

import json
import math
from typing import Any

import pytest
import scipy.stats

from aex_models.work import FeedbackLevel
from tests.e2e.conftest import EMBEDDED_ALONE
from tests.e2e.holds import answers, decided, waiting_hold
from tests.e2e.jobs import amounts, eventually, until_settled, until_status
from tests.e2e.parties import Parties
from tests.e2e.science import (
    CONSISTENT,
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
    upload,
)
from tests.libs.outcomes.science.conditions import MIXED_MEAN, TWO

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ABSURD = 11.17
"""Value in the plot; the data give about -0.4."""


def test_absurd_mean_does_not_pass_and_an_honest_one_still_can(parties: Parties) -> None:
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
    assert claim(parties, contract_id, {"mean_fitness": claimed(TRUTH)}, artifact(TABLE))["verdict"] == "passed"
    assert until_status(parties.agent, contract_id, "passed")["attempts_used"] == 2


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


@EMBEDDED_ALONE
def test_mean_over_two_conditions_is_not_paid_and_means_of_each_are(parties: Parties) -> None:
    digest = upload(parties.consumer, "work-publisher", TWO.replace(",A,", ",canary,").encode())
    data = {"data": [{"name": "own.csv", "sha256": digest}], "statistics": []}
    criteria = {"criteria": [CONSISTENT]}
    contract_id = science_contract(parties, data, verification={"max_attempts": 2}, success_criteria=criteria)
    attempt = claim(parties, contract_id, {"mean_fitness": MIXED_MEAN})
    assert attempt["verdict"] == "rejected"
    [seen] = science_of(parties.agent, contract_id, attempt["attempt_id"])["mixed_groups"]
    assert (seen["measured"], seen["column"], "groups" in seen) == ("mut_score", "condition", False)
    feedback = parties.agent.read("verification", f"/v1/contracts/{contract_id}")["last_feedback"]
    assert "own.csv: mixed_groups: mut_score by condition" in feedback
    assert "canary" not in json.dumps(attempt) + feedback
    [all_seen] = science_of(parties.operator, contract_id, attempt["attempt_id"])["mixed_groups"]
    assert [(each["value"], each["n"], round(each["mean"], 3)) for each in all_seen["groups"]] == [
        ("B", 709, 23.6), ("canary", 709, -0.714),
    ]  # fmt: skip
    each_mean = {"mean_fitness[condition=canary]": -0.714, "mean_fitness[condition=B]": 23.6}
    assert claim(parties, contract_id, each_mean)["verdict"] == "passed"


def test_an_uploaded_artifact_serves_as_one_that_is_sent_along(parties: Parties) -> None:
    digest = upload(parties.agent, "verification", TABLE.encode())
    contract_id = science_contract(parties)
    file = {"name": "scores.csv", "media_type": "text/csv", "sha256": digest}
    assert claim(parties, contract_id, {"mean_fitness": claimed(TRUTH)}, file)["verdict"] == "passed"


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


@EMBEDDED_ALONE
def test_unreadable_consumer_data_are_not_the_agents_fault(parties: Parties) -> None:
    digest = upload(parties.consumer, "work-publisher", b"PK\x03\x04 and more")
    contract_id = science_contract(parties, {"data": [{"name": "scores.csv", "sha256": digest}]})
    attempt_id = claim(parties, contract_id, {"mean_fitness": claimed(TRUTH)})["attempt_id"]
    until_status(parties.agent, contract_id, "held")
    seen = parties.operator.read("verification", f"/v1/contracts/{contract_id}/attempts/{attempt_id}")
    assert (seen["counted"], seen["verdict"]) == (False, "indeterminate")
    assert {each["fault"] for each in seen["result"]["science"]["examination"]["problems"]} == {"platform"}


@EMBEDDED_ALONE
def test_claims_about_joined_groups_and_derived_columns_are_recomputed(parties: Parties) -> None:
    truth = "mutant,control,arm\n" + "".join(f"M{each}A,{each},{'ab'[each % 2]}\n" for each in range(1, 41))
    predicted = "mutant,treated\n" + "".join(f"M{each}A,{each * (2 + each % 2)}\n" for each in range(40, 0, -1))
    digest = upload(parties.consumer, "work-publisher", truth.encode())
    groups = [[{"column": "arm", "op": "eq", "value": arm}] for arm in "ab"]
    science = {
        "data": [{"name": "truth.csv", "sha256": digest}],
        "joins": [{"name": "both", "left": "truth.csv", "right": "predicted.csv", "on": ["mutant"]}],
        "derived": [{"artifact": "both", "column": "change", "expression": "log2(treated / control)"}],
        "statistics": [
            {"name": "mean_change", "stat": "mean", "column": "change", "artifact": "both"},
            {"name": "p", "stat": "mannwhitney_p", "column": "change", "groups": groups, "artifact": "both"},
        ],
    }
    judged = {"criteria": [CONSISTENT]}
    contract_id = science_contract(parties, science, domain="general", success_criteria=judged)
    sent = artifact(predicted, "predicted.csv")
    p_value = float(scipy.stats.mannwhitneyu([1.0] * 20, [math.log2(3)] * 20).pvalue)
    wrong = claim(parties, contract_id, {"mean_change": 1.0, "p": p_value}, sent)
    assert wrong["verdict"] == "rejected"
    found = science_of(parties.operator, contract_id, wrong["attempt_id"])
    [mismatch] = found["value_mismatches"]
    assert (mismatch["name"], mismatch["actual"]) == ("mean_change", pytest.approx((1 + math.log2(3)) / 2))
    right = claim(parties, contract_id, {"mean_change": 1.2925, "p": p_value}, sent)
    assert right["verdict"] == "passed"
    recomputed = science_of(parties.operator, contract_id, right["attempt_id"])["examination"]["recomputed"]
    assert {each["artifact"] for each in recomputed} == {"both"}
    assert "1.2924" not in parties.agent.get("verification", f"/v1/contracts/{contract_id}/attempts").text


@EMBEDDED_ALONE
def test_malformed_tables_are_refused_with_pointer_and_fix(parties: Parties) -> None:
    science = {
        "joins": [{"name": "both", "left": "a.csv", "right": "b.csv", "on": ["k"], "how": "outer"}],
        "derived": [{"column": "x", "expression": "__import__('os').system('id')"}],
        "statistics": [{"name": "p", "stat": "welch_p", "column": "x"}],
    }
    answer = parties.consumer.post("work-publisher", "/v1/work", science_work(science))
    assert answer.status_code == 422, answer.text
    assert {each["path"] for each in answer.json()["errors"]} == {
        "/science/joins/0/how", "/science/derived/0/expression", "/science/statistics/0",
    }  # fmt: skip
