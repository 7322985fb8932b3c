import csv
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.books import BY_HAND, CORRECTED, NASTY
from tests.browser.running import served
from tests.browser.visiting import Visitor
from tests.services.settlement.ledger_kit import FINANCE

pytestmark = pytest.mark.e2e
OpenVisitor = Callable[..., Visitor]


def total(page: Page) -> str:
    return page.locator(".tiles dd").first.inner_text()


def test_filters_and_periods_change_figures_and_address(page: Page) -> None:
    all_total = total(page)
    page.get_by_label("Agent", exact=True).fill("crew")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".chip")).to_contain_text("crew")
    expect(page).to_have_url(re.compile("agent=crew"))
    expect(page.get_by_role("button", name="Show")).to_be_focused()
    narrowed = total(page)
    assert narrowed != all_total
    page.reload()
    assert total(page) == narrowed
    page.get_by_label("Show any agent").click()
    expect(page.locator(".chip")).to_have_count(0)
    assert total(page) == all_total
    page.go_back()
    expect(page.locator(".chip")).to_contain_text("crew")
    page.get_by_role("link", name="Last month").click()
    expect(page.locator(".period")).to_contain_text("2025-02-01 to 2025-02-28")
    expect(page.get_by_role("link", name="Last month")).to_have_attribute("aria-current", "true")


def test_chart_equals_its_table_and_labels_the_hovered_point(page: Page) -> None:
    expect(page.locator(".chart canvas")).to_be_visible()
    assert page.locator("details").first.get_attribute("open") is None
    page.get_by_text("The figures as a table").click()
    expect(page.locator("#steps")).to_be_visible()
    rows = page.locator("#steps tbody [data-total]").evaluate_all("cells => cells.map((each) => each.dataset.total)")
    assert total(page) == f"${sum(map(Decimal, rows))}"
    page.locator(".chart .u-over").hover()
    expect(page.locator(".legend output")).to_contain_text("2025-03-")


def test_dashboard_works_without_scripts(finance: Visitor) -> None:
    page = finance.without_scripts()
    page.goto(f"{finance.service.url}/dashboard")
    expect(page.locator("#steps")).to_be_visible()
    page.get_by_label("Agent", exact=True).fill("crew")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".chip")).to_contain_text("crew")
    page.context.close()


def test_ranking_leads_to_settlement_criteria_and_account(finance: Visitor) -> None:
    page = finance.page
    page.get_by_role("region", name="Agents by total").get_by_role("link", name="bot").click()
    expect(page.locator(".chip")).to_contain_text("bot")
    page.get_by_role("link", name="List the settlements").click()
    page.get_by_role("link", name=BY_HAND).click()
    expect(page.locator(".sum")).to_have_text("$0.085")
    criteria = page.get_by_role("region", name="Criteria").get_by_role("row")
    assert [each.inner_text().split("\t")[-1] for each in criteria.all()[1:]] == ["$0.03", "$0.02", "-$0.015"]
    expect(page.get_by_text("verdict: passed")).to_be_visible()
    page.get_by_role("region", name="Postings").get_by_role("link", name="consumer:acme").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("consumer:acme")
    expect(page.locator(".chart canvas").first).to_be_visible()


def test_correction_shows_both_revisions_and_postings(finance: Visitor) -> None:
    page = finance.page
    finance.open(f"/dashboard/settlements/{CORRECTED}")
    expect(page.locator(".sum")).to_have_text("$0.65")
    expect(page.get_by_role("region", name="Revisions")).to_contain_text(f"agreed with {NASTY}")
    expect(page.get_by_role("region", name="Postings").get_by_role("rowheader")).to_have_count(3)
    expect(page.get_by_text("Finance has set the cost since")).to_be_visible()


def test_downloaded_file_equals_the_page(finance: Visitor, tmp_path: Path) -> None:
    page = finance.page
    finance.open("/dashboard?from=2025-03-01&to=2025-03-31&currency=USD")
    displayed = total(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    download.value.save_as(tmp_path / "rows.csv")
    assert download.value.suggested_filename == "settlements-2025-03-01-2025-03-31.csv"
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["currency"] for row in rows} == {"USD"}
    assert displayed == f"${sum(Decimal(row['total']) for row in rows)}"


def test_error_page_names_the_cause_and_leads_back(finance: Visitor) -> None:
    page = finance.page
    page.get_by_label("Currency").fill("dollars")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("alert")).to_contain_text("must be an ISO 4217 code")
    page.get_by_role("link", name="Back to the first page").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    assert finance.open("/dashboard/settlements/ctr_nowhere") == 404


def test_empty_ledger_explains_itself(open_visitor: OpenVisitor, tmp_path: Path) -> None:
    with served(tmp_path, filled=False) as service:
        visitor = open_visitor(service)
        visitor.sign_in(FINANCE)
        expect(visitor.page.get_by_role("heading", level=2)).to_have_text("Nothing was booked here")
        assert visitor.violations() == []
        visitor.open("/dashboard/accounts")
        expect(visitor.page.get_by_role("heading", level=2)).to_have_text("No accounts yet")
        assert visitor.violations() == []
