"""Page of a hold: content and escaping."""

import re

from aex_governance.handlers.history import append_outcome_to_log_and_projections
from aex_governance.handlers.read_holds import MAX_PROFILE_DOMAINS
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_models.contract import ContractStatus
from aex_models.events import OutcomeVerified
from aex_models.governance import HoldCause
from tests.services.governance.client import OLGA, Client, make_flag
from tests.services.governance.log_records import fold, validation_entry
from tests.services.governance.requests import outcome_record, validation_request

NASTY = "<script>alert(1)</script>"
EVIL = f'"><img src=x onerror=alert(1)>{NASTY}\u202e\u200bpassed'


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


async def test_most_severe_flag_comes_first(client: Client) -> None:
    hold = await client.hold(
        1,
        make_flag("velocity", "minor", limit=7),
        make_flag("self_dealing", "critical", agent={"id": "bot", "org": "b"}),
    )
    html = await client.page(f"/review/holds/{hold.hold_id}")
    assert re.findall(r'<article class="flag (\w+)"', html) == ["critical", "minor"]
    text = words(html)
    for part in ("■ critical self_dealing", "● minor velocity", "limit 7", "id bot org b"):
        assert part in text


async def test_hostile_evidence_is_escaped(client: Client) -> None:
    nested = {EVIL: [{"excerpt": EVIL, "where": [EVIL]}, {"excerpt": EVIL * 40, "where": None}]}
    hold = await client.hold(1, make_flag("judge_injection", "major", **nested), request_fields={"domain": f"d {EVIL}"})
    html = await client.page(f"/review/holds/{hold.hold_id}")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script>" not in html
    assert "<img src=x" not in html
    assert "\u202e" not in html
    assert "\u200b" not in html
    assert "U+202E right-to-left override" in html


async def test_science_findings_are_tables(client: Client) -> None:
    mismatch = {"name": "mean_fitness", "claimed": 11.17, "recomputed": -0.39, "severity": "critical"}
    violation = {"name": "mean_fitness", "value": 11.17, "min": -5.0, "max": 2.0, "message": "11.17 is above 2"}
    hold = await client.hold(
        1,
        make_flag("claimed_value_mismatch", mismatches=[mismatch], count=1),
        make_flag("domain_violation", violations=[violation], count=1),
        request_fields={"science": {"mismatches": [mismatch], "violations": [violation]}},
    )
    html = await client.page(f"/review/holds/{hold.hold_id}")
    for name, columns in (("mismatches", mismatch), ("violations", violation)):
        tables = re.findall(rf'aria-label="Table of {name}">(.*?)</table>', html, re.DOTALL)
        assert len(tables) == 2, "in the flag's evidence and in the attempt"
        for table in tables:
            heads = [words(head) for head in re.findall(r"<th scope=\"col\">(.*?)</th>", table, re.DOTALL)]
            assert (heads[0], sorted(heads)) == ("name", sorted(columns))
            assert "mean_fitness" in words(table)
            assert "11.17" in words(table)
    assert "{&#34;" not in html
    assert "&#39;claimed&#39;" not in html


async def test_attempt_is_read_from_the_log(client: Client) -> None:
    hold = await client.hold(
        1,
        make_flag(),
        request_fields={
            "agent": {"id": "bot", "org": "botworks"},
            "extracted_metrics": {"rougeL": 0.4, "bertscore": None},
            "claimed_metrics": {"rougeL": 0.5, "stars": 5},
            "execution_metadata": {"duration_ms": 850.5, "model": "m1"},
            "platform_latency_ms": 912.25,
            "reference_similarity": {"rouge_l": 0.33, "bleu": None},
            "keyword_stats": {"found": 3, "density": 0.25, "list_share": 0.5},
            "science": {"mismatches": [{"name": "mean", "claimed": 1.2}], "violations": ["fitness_score"]},
            "previous_attempts": [{"output_hash": "c" * 64, "metrics": {"rougeL": 0.31}, "similarity": 0.97}],
        },
    )
    text = words(await client.page(f"/review/holds/{hold.hold_id}"))
    for part in (
        "bot of botworks",
        "bertscore not known no claim",
        "rougeL 0.4 0.5 +25.0 %",
        "stars not extracted 5",
        "Duration 850.5 912.25",
        "Time to first byte not known not measured",
        "model m1",
        "rouge_l 0.33 bleu not known",
        "found 3 density 0.25 list_share 0.5",
        "mean 1.2",
        "fitness_score",
        "c" * 64,
        "0.97",
    ):
        assert part in text, part


async def test_attempt_without_a_validation_is_explained(client: Client) -> None:
    hold = await client.hold(1, cause=HoldCause.SYSTEM_RETRIES_EXHAUSTED)
    text = words(await client.page(f"/review/holds/{hold.hold_id}"))
    for part in (
        "as often as it may",
        "No rule raised a flag",
        "this one has none",
        "att_1",
        "bonus and penalty are 0",
    ):
        assert part in text, part
    assert "agent's record" not in text


async def test_page_has_the_agents_profile(client: Client) -> None:
    for number in range(3):
        await validate_outcome(
            client.deps, validation_request(attempt_id=f"att_h{number}", contract_id=f"ctr_h{number}")
        )
        await append_outcome_to_log_and_projections(
            client.deps, OutcomeVerified(outcome=outcome_record(f"ctr_h{number}", ContractStatus.EXPIRED))
        )
    hold = await client.hold(1, make_flag())
    text = words(await client.page(f"/review/holds/{hold.hold_id}"))
    for part in ("Outcomes 3: 3 expired", "Success rate 0.0 %", "Rules said 3 allow", "Flags none", "general 3 0.0 %"):
        assert part in text, part


async def test_profile_with_many_domains_is_limited(client: Client) -> None:
    records = [
        validation_entry(n, agent={"id": "bot"}, domain=f"domain {n}\u202e") for n in range(MAX_PROFILE_DOMAINS + 5)
    ]
    await fold(client.deps.store, records)
    hold = await client.hold(1, make_flag())
    html = await client.page(f"/review/holds/{hold.hold_id}")
    assert "very many domains" in html
    assert f"{MAX_PROFILE_DOMAINS} allow" in html
    assert "\u202e" not in html


async def test_page_links_other_holds_of_contract_and_agent(client: Client) -> None:
    first = await client.hold("a", make_flag(), contract_id="ctr_1")
    await client.decide(first.hold_id, decision="retry")
    second = await client.hold("b", make_flag(), contract_id="ctr_1")
    elsewhere = await client.hold("c", make_flag("velocity", "major"), contract_id="ctr_2")
    strange = await client.hold("d", make_flag(), contract_id="ctr_3", request_fields={"agent": {"id": "crew"}})
    html = await client.page(f"/review/holds/{second.hold_id}")
    others = html.partition('id="others"')[2].partition("</section>")[0]
    assert re.findall(r"/review/holds/(\w+)", others) == [first.hold_id, elsewhere.hold_id, first.hold_id]
    assert "verified again" in others
    assert strange.hold_id not in others
    for number in range(11):
        await client.hold(number, make_flag(), contract_id="ctr_1")
    html = await client.page(f"/review/holds/{first.hold_id}")
    assert "The latest 10 of this contract" in html


async def test_unknown_hold_is_not_found(client: Client) -> None:
    assert (await client.get(OLGA, "/review/holds/hold_none")).status_code == 404
    assert (await client.get(OLGA, f"/review/holds/{'x' * 500}")).status_code == 422
    assert (await client.get(OLGA, "/review/nowhere")).status_code == 404
    answer = await client.get(OLGA, f"/review/holds/{NASTY}")
    assert NASTY not in answer.text


async def test_flag_of_a_removed_rule_is_rendered(client: Client) -> None:
    hold = await client.hold(1, make_flag("rule_of_old", "info"))
    text = words(await client.page(f"/review/holds/{hold.hold_id}"))
    assert "○ info rule_of_old" in text
    assert "carries no figures" in text
    assert "rule_of_old" in await client.page("/review", rule="rule_of_old")


async def test_content_security_policy_excludes_foreign_scripts(client: Client) -> None:
    hold = await client.hold(1, make_flag())
    for path in ("/review", "/review/rules", f"/review/holds/{hold.hold_id}", "/review/nowhere"):
        policy = (await client.get(OLGA, path)).headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
