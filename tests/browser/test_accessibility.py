from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.books import BY_HAND, CORRECTED
from tests.browser.running import Served
from tests.browser.visiting import Visitor
from tests.services.settlement.ledger_kit import BOT, FINANCE

pytestmark = pytest.mark.e2e
OpenVisitor = Callable[..., Visitor]
PATHS = {
    "overview": "/dashboard",
    "by-month": "/dashboard?from=2024-06-01&to=2025-03-31",
    "nothing-here": "/dashboard?from=2020-01-01&to=2020-01-31&agent=unknown",
    "settlements": "/dashboard/settlements",
    "settlement": f"/dashboard/settlements/{BY_HAND}",
    "corrected": f"/dashboard/settlements/{CORRECTED}",
    "accounts": "/dashboard/accounts",
    "account": "/dashboard/accounts/consumer:acme",
    "error": "/dashboard?from=yesterday",
    "not-found": "/dashboard/nowhere",
}


@pytest.mark.parametrize("name", PATHS)
def test_every_page_is_accessible(open_visitor: OpenVisitor, books: Served, name: str) -> None:
    visitor = open_visitor(books)
    visitor.sign_in(FINANCE, PATHS[name])
    visitor.check_views()


def test_sign_in_and_the_pages_of_an_agent_are_accessible(open_visitor: OpenVisitor, books: Served) -> None:
    visitor = open_visitor(books)
    visitor.open("/dashboard")
    visitor.check_views()
    visitor.sign_in(BOT)
    for path in ("/dashboard", "/dashboard/accounts/agent:bot", f"/dashboard/settlements/{BY_HAND}"):
        visitor.open(path)
        assert visitor.violations() == []
    expect(visitor.page.get_by_text("withheld")).to_have_count(1)


def test_dashboard_works_with_the_keyboard(open_visitor: OpenVisitor, books: Served) -> None:
    visitor = open_visitor(books)
    page = visitor.page
    visitor.open("/dashboard")
    expect(page.get_by_label("Access token")).to_be_focused()
    page.keyboard.insert_text(books.token(FINANCE))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="List the settlements")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Settlements")
    page.get_by_label("Status").focus()
    page.keyboard.press("r")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="ctr_reversed")).to_be_visible()
    page.get_by_role("link", name="ctr_reversed").focus()
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("ctr_reversed")


def test_printed_page_has_figures_and_no_controls(finance: Visitor) -> None:
    page = finance.page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    expect(page.locator("#steps")).to_be_visible()
    expect(page.get_by_role("button", name="Show")).to_be_hidden()
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
