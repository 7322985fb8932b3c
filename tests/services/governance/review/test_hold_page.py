"""A hold's page: everything that is known, as it is, and nothing of it runs."""

import re

from aex_governance.handlers.holds.context import MOST_DOMAINS
from aex_governance.handlers.log_outcome import log_outcome
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_models.contract import ContractStatus
from aex_models.events import OutcomeVerified
from aex_models.governance import HoldCause
from tests.services.governance.asking import an_ended, asked
from tests.services.governance.logbook import fold, validated
from tests.services.governance.review.bureau import OLGA, Bureau, a_flag

NASTY = "<script>alert(1)</script>"
EVIL = f'"><img src=x onerror=alert(1)>{NASTY}\u202e\u200bpassed'


def words(html: str) -> str:
    """What a page says, without its marks."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


async def test_the_gravest_flag_comes_first_with_its_figures(bureau: Bureau) -> None:
    hold = await bureau.hold(
        1, a_flag("velocity", "minor", limit=7), a_flag("self_dealing", "critical", agent={"id": "bot", "org": "b"})
    )
    html = await bureau.page(f"/review/holds/{hold.hold_id}")
    assert re.findall(r'<article class="flag (\w+)"', html) == ["critical", "minor"]
    said = words(html)
    for part in ("■ critical self_dealing", "● minor velocity", "limit 7", "id bot org b"):
        assert part in said


async def test_evidence_that_means_harm_is_shown_and_never_run(bureau: Bureau) -> None:
    nested = {EVIL: [{"excerpt": EVIL, "where": [EVIL]}, {"excerpt": EVIL * 40, "where": None}]}
    hold = await bureau.hold(1, a_flag("judge_injection", "major", **nested), asked_about={"domain": f"d {EVIL}"})
    html = await bureau.page(f"/review/holds/{hold.hold_id}")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script>" not in html
    assert "<img src=x" not in html
    assert "\u202e" not in html
    assert "\u200b" not in html
    assert "U+202E right-to-left override" in html


async def test_what_the_science_gate_found_is_read_in_tables(bureau: Bureau) -> None:
    mismatch = {"name": "mean_fitness", "claimed": 11.17, "recomputed": -0.39, "severity": "critical"}
    violation = {"name": "mean_fitness", "value": 11.17, "min": -5.0, "max": 2.0, "message": "11.17 is above 2"}
    hold = await bureau.hold(
        1,
        a_flag("claimed_value_mismatch", mismatches=[mismatch], count=1),
        a_flag("domain_violation", violations=[violation], count=1),
        asked_about={"science": {"mismatches": [mismatch], "violations": [violation]}},
    )
    html = await bureau.page(f"/review/holds/{hold.hold_id}")
    for name, columns in (
        ("mismatches", ["name", "claimed", "recomputed", "severity"]),
        ("violations", ["name", "value", "min", "max", "message"]),
    ):
        tables = re.findall(rf'aria-label="Table of {name}">(.*?)</table>', html, re.DOTALL)
        assert len(tables) == 2, "the flag's evidence, and what governance was told of the attempt"
        for table in tables:
            heads = [words(head) for head in re.findall(r"<th scope=\"col\">(.*?)</th>", table, re.DOTALL)]
            assert (heads[0], sorted(heads)) == ("name", sorted(columns))
            assert "mean_fitness" in words(table)
            assert "11.17" in words(table)
    assert "{&#34;" not in html
    assert "&#39;claimed&#39;" not in html


async def test_the_attempt_is_told_from_the_log(bureau: Bureau) -> None:
    hold = await bureau.hold(
        1,
        a_flag(),
        asked_about={
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
    said = words(await bureau.page(f"/review/holds/{hold.hold_id}"))
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
        assert part in said, part


async def test_an_attempt_that_governance_was_never_asked_about_says_so(bureau: Bureau) -> None:
    hold = await bureau.hold(1, cause=HoldCause.SYSTEM_RETRIES_EXHAUSTED)
    said = words(await bureau.page(f"/review/holds/{hold.hold_id}"))
    for part in (
        "as often as it may",
        "No rule raised a flag",
        "this one has none",
        "att_1",
        "bonus and penalty are 0",
    ):
        assert part in said, part
    assert "agent's record" not in said


async def test_the_agents_record_so_far_stands_beside_what_is_held(bureau: Bureau) -> None:
    for number in range(3):
        await validate_outcome(bureau.deps, asked(attempt_id=f"att_h{number}", contract_id=f"ctr_h{number}"))
        await log_outcome(bureau.deps, OutcomeVerified(outcome=an_ended(f"ctr_h{number}", ContractStatus.EXPIRED)))
    hold = await bureau.hold(1, a_flag())
    said = words(await bureau.page(f"/review/holds/{hold.hold_id}"))
    for part in ("Outcomes 3: 3 expired", "Success rate 0.0 %", "Rules said 3 allow", "Flags none", "general 3 0.0 %"):
        assert part in said, part


async def test_of_a_record_with_very_many_domains_some_are_counted_and_the_page_says_so(bureau: Bureau) -> None:
    records = [validated(n, agent={"id": "bot"}, domain=f"domain {n}\u202e") for n in range(MOST_DOMAINS + 5)]
    await fold(bureau.deps.store, records)
    hold = await bureau.hold(1, a_flag())
    html = await bureau.page(f"/review/holds/{hold.hold_id}")
    assert "very many domains" in html
    assert f"{MOST_DOMAINS} allow" in html
    assert "\u202e" not in html


async def test_other_holds_of_the_contract_and_of_the_agent_are_a_click_away(bureau: Bureau) -> None:
    first = await bureau.hold("a", a_flag(), contract_id="ctr_1")
    await bureau.decide(first.hold_id, decision="retry")
    second = await bureau.hold("b", a_flag(), contract_id="ctr_1")
    elsewhere = await bureau.hold("c", a_flag("velocity", "major"), contract_id="ctr_2")
    strange = await bureau.hold("d", a_flag(), contract_id="ctr_3", asked_about={"agent": {"id": "crew"}})
    html = await bureau.page(f"/review/holds/{second.hold_id}")
    others = html.partition('id="others"')[2].partition("</section>")[0]
    assert re.findall(r"/review/holds/(\w+)", others) == [first.hold_id, elsewhere.hold_id, first.hold_id]
    assert "verified again" in others
    assert strange.hold_id not in others


async def test_of_many_other_holds_the_latest_are_shown_and_that_there_are_more(bureau: Bureau) -> None:
    holds = [await bureau.hold(number, a_flag(), contract_id="ctr_1") for number in range(12)]
    html = await bureau.page(f"/review/holds/{holds[0].hold_id}")
    assert "The latest 10 of this contract" in html


async def test_an_unknown_hold_and_an_endless_id_are_not_there(bureau: Bureau) -> None:
    assert (await bureau.ask(OLGA, "/review/holds/hold_none")).status_code == 404
    assert (await bureau.ask(OLGA, f"/review/holds/{'x' * 500}")).status_code == 422
    assert (await bureau.ask(OLGA, "/review/nowhere")).status_code == 404
    answer = await bureau.ask(OLGA, f"/review/holds/{NASTY}")
    assert NASTY not in answer.text


async def test_a_rule_that_is_no_more_is_shown_as_it_was(bureau: Bureau) -> None:
    hold = await bureau.hold(1, a_flag("rule_of_old", "info"))
    said = words(await bureau.page(f"/review/holds/{hold.hold_id}"))
    assert "○ info rule_of_old" in said
    assert "carries no figures" in said
    assert "rule_of_old" in await bureau.page("/review", rule="rule_of_old")


async def test_no_page_leaves_room_for_scripts_of_others(bureau: Bureau) -> None:
    hold = await bureau.hold(1, a_flag())
    for path in ("/review", "/review/rules", f"/review/holds/{hold.hold_id}", "/review/nowhere"):
        policy = (await bureau.ask(OLGA, path)).headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
