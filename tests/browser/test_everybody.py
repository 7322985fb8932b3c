"""Pages for everybody: axe finds nothing in either scheme, nothing is cut off at 360 px, and the keyboard is enough."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.browser.books import BY_HAND, CORRECTED
from tests.browser.serving import Served
from tests.browser.visiting import Visitor
from tests.services.settlement.desk import BOT, FINANCE

pytestmark = pytest.mark.e2e
Visit = Callable[..., Visitor]
SETTLED_MS = 200
"""After which a chart is drawn anew for another width."""
PATHS = {
    "overview": "/dashboard",
    "by-month": "/dashboard?from=2024-06-01&to=2025-03-31",
    "nothing-here": "/dashboard?from=2020-01-01&to=2020-01-31&agent=nobody",
    "settlements": "/dashboard/settlements",
    "settlement": f"/dashboard/settlements/{BY_HAND}",
    "corrected": f"/dashboard/settlements/{CORRECTED}",
    "accounts": "/dashboard/accounts",
    "account": "/dashboard/accounts/consumer:acme",
    "error": "/dashboard?from=yesterday",
    "not-found": "/dashboard/nowhere",
}


SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (1440, 360)


@pytest.mark.parametrize("name", PATHS)
def test_every_page_suits_everybody(visit: Visit, books: Served, tmp_path: Path, name: str) -> None:
    """The pictures stay in the test's folder, for somebody to look at."""
    visitor = visit(books)
    visitor.sign_in(FINANCE, PATHS[name])
    page = visitor.page
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(SETTLED_MS)
            page.screenshot(path=tmp_path / f"{name}-{scheme}-{width}.png", full_page=True)
            assert visitor.overflow() == 0, (scheme, width)
        assert visitor.violations() == [], scheme
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert len(list(tmp_path.glob("*.png"))) == len(SCHEMES) * len(WIDTHS)


def test_signing_in_suits_everybody(visit: Visit, books: Served) -> None:
    visitor = visit(books, width=360)
    visitor.open("/dashboard")
    for scheme in SCHEMES:
        visitor.page.emulate_media(color_scheme=scheme)
        assert (visitor.overflow(), visitor.violations()) == (0, [])


def test_an_agents_pages_suit_it(visit: Visit, books: Served) -> None:
    visitor = visit(books, width=360)
    visitor.sign_in(BOT)
    for path in ("/dashboard", f"/dashboard/settlements/{BY_HAND}", "/dashboard/accounts/agent:bot"):
        visitor.open(path)
        assert visitor.violations() == []
    visitor.open(f"/dashboard/settlements/{BY_HAND}")
    expect(visitor.page.get_by_text("withheld")).to_have_count(1)


def test_the_keyboard_is_enough(visit: Visit, books: Served) -> None:
    visitor = visit(books)
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


def test_a_print_holds_the_figures_and_no_controls(finance: Visitor) -> None:
    page = finance.page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    expect(page.locator("#steps")).to_be_visible()
    expect(page.get_by_role("button", name="Show")).to_be_hidden()
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
