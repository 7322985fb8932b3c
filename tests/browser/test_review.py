"""What operators do in a browser: look at what is held, and decide, two of them at once if need be."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from aex_governance.handlers.holds import get_hold
from aex_models.governance import Decision
from aex_runtime.identity.principal import Principal
from tests.browser.holdings import COPIED, DECIDED, FAILED, NASTY, PLAIN, STUFFED, Review, reviewed
from tests.browser.visiting import Visitor
from tests.services.governance.review.bureau import OLGA, OMAR

pytestmark = pytest.mark.e2e
Visit = Callable[..., Visitor]
SCHEMES, WIDTHS = ("light", "dark"), (1440, 360)
PAGES = {
    "queue": "/review",
    "decided": "/review?status=decided",
    "nothing": "/review?rule=near_duplicate_output",
    "rules": "/review/rules",
    "refused": "/review?cause=none",
    "flagged": COPIED,
    "unjudged": FAILED,
    "over": DECIDED,
}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Review]:
    """A service of its own, to decide on."""
    with reviewed(tmp_path) as service:
        yield service


def operator(visit: Visit, service: Review, contract: str | None = None, who: Principal = OLGA) -> Visitor:
    """Somebody signed in, before a hold or the list."""
    visitor = visit(service)
    visitor.sign_in(who, service.path(contract) if contract else "/review")
    return visitor


def fill(page: Page, choice: str, reason: str) -> None:
    page.get_by_role("radio", name=choice).check()
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name="Check and confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{choice}?")


def suits_everybody(visitor: Visitor, folder: Path, name: str) -> None:
    """In both schemes and widths; the pictures stay in the test's folder, for somebody to look at."""
    page = visitor.page
    for scheme in SCHEMES:
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=folder / f"{name}-{scheme}-{width}.png", full_page=True)
            assert visitor.overflow() == 0, (scheme, width)
            assert visitor.violations() == [], (scheme, width)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


@pytest.mark.parametrize("name", PAGES)
def test_every_page_suits_everybody(visit: Visit, review: Review, tmp_path: Path, name: str) -> None:
    place = PAGES[name]
    visitor = operator(visit, review)
    visitor.open(place if place.startswith("/") else review.path(place))
    suits_everybody(visitor, tmp_path, name)


def test_the_steps_of_a_decision_suit_everybody(visit: Visit, desk: Review, tmp_path: Path) -> None:
    visitor = operator(visit, desk, COPIED)
    page = visitor.page
    page.evaluate("document.querySelectorAll('form').forEach((each) => { each.noValidate = true; })")
    page.get_by_role("button", name="Check and confirm").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose what to do")
    suits_everybody(visitor, tmp_path, "incomplete")
    fill(page, "Reject as fraud", "Copied word by word.")
    suits_everybody(visitor, tmp_path, "confirm")
    desk.do(desk.bureau.decide(desk.holds[COPIED], OMAR))
    page.get_by_role("button", name="Reject as fraud").click()
    expect(page.get_by_role("alert")).to_contain_text("not recorded")
    suits_everybody(visitor, tmp_path, "overtaken")
    visitor.open(desk.path(STUFFED))
    fill(page, "Release", "Headings, not stuffing.")
    page.get_by_role("button", name="Release").click()
    expect(page.get_by_role("heading", name="You have released this outcome")).to_be_visible()
    suits_everybody(visitor, tmp_path, "recorded")


def test_what_waits_the_longest_is_on_top_and_a_filter_narrows_the_list(visit: Visit, review: Review) -> None:
    page = operator(visit, review).page
    rows = page.locator("tbody th a")
    expect(rows).to_have_text([COPIED, STUFFED, FAILED, "ctr_unread", PLAIN])
    page.get_by_label("Rule").select_option("velocity")
    page.get_by_role("button", name="Show").click()
    expect(rows).to_have_text([PLAIN])
    expect(page).to_have_url(re.compile("rule=velocity"))
    page.go_back()
    expect(rows).to_have_count(5)
    page.get_by_role("link", name="Decided").click()
    expect(rows).to_have_text([DECIDED])
    expect(page.get_by_role("cell", name=f"Copied word by word. {NASTY}")).to_be_visible()


def test_the_count_keeps_up_by_itself(visit: Visit, desk: Review) -> None:
    page = operator(visit, desk).page
    expect(page.get_by_role("status")).to_contain_text("5 waiting")
    desk.do(desk.bureau.decide(desk.holds[PLAIN], OMAR))
    page.evaluate("htmx.ajax('GET', '/review/waiting', {target: '#waiting', swap: 'outerHTML'})")
    expect(page.get_by_role("status")).to_contain_text("4 waiting")


def test_hidden_characters_are_seen_and_markup_is_text(visit: Visit, review: Review) -> None:
    page = operator(visit, review, COPIED).page
    flag = page.get_by_role("article", name="judge_injection")
    expect(flag).to_contain_text(NASTY)
    expect(flag).to_contain_text("U+202E right-to-left override")
    expect(flag).to_contain_text("9 tag characters that spell “score 1.0”")
    expect(flag.get_by_text("all 673 characters")).to_be_visible()


def test_an_id_is_taken_along_with_a_click(visit: Visit, review: Review) -> None:
    visitor = operator(visit, review, COPIED)
    page = visitor.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy contract id").click()
    expect(page.get_by_role("button", name="Copy contract id")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == COPIED


def test_the_keyboard_is_enough_to_decide(visit: Visit, desk: Review) -> None:
    visitor = visit(desk)
    page = visitor.page
    visitor.open("/review")
    page.keyboard.insert_text(desk.token(OLGA))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Held outcomes")
    page.get_by_role("link", name=PLAIN).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(PLAIN)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "decision":
            break
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="Reject as fraud")).to_be_checked()
    expect(page.get_by_role("radio", name="Reject as fraud")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.insert_text("3012 outcomes in an hour are no human's work.")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Reject as fraud?")
    page.get_by_role("button", name="Reject as fraud").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You have rejected this outcome as fraud")).to_be_visible()
    assert page.title().startswith("You have rejected")


def test_without_scripts_one_decides_as_well(visit: Visit, desk: Review) -> None:
    signed_in = operator(visit, desk)
    context = signed_in.page.context.browser
    assert context is not None
    plain = context.new_context(java_script_enabled=False)
    plain.add_cookies(signed_in.page.context.cookies())  # type: ignore[arg-type]  # the same, typed as given out
    page = plain.new_page()
    page.goto(f"{desk.url}{desk.path(FAILED)}")
    fill(page, "Verify again", "The metric's code was mended.")
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_label("Reason")).to_have_value("The metric's code was mended.")
    expect(page.get_by_role("radio", name="Verify again")).to_be_checked()
    page.get_by_role("button", name="Check and confirm").click()
    page.get_by_role("button", name="Verify again").click()
    expect(page.get_by_role("heading", name="You have sent this outcome to be verified again")).to_be_visible()
    page.reload()
    page.get_by_role("link", name=re.compile("Next waiting")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("ctr_unread")
    plain.close()


def test_two_operators_at_once_leave_one_decision_and_both_learn_it(visit: Visit, desk: Review) -> None:
    olga, omar = (operator(visit, desk, STUFFED, who).page for who in (OLGA, OMAR))
    fill(olga, "Release", "Headings, not stuffing.")
    fill(omar, "Reject as fraud", "A list of all required terms.")
    olga.get_by_role("button", name="Release").click()
    expect(olga.get_by_role("heading", name="You have released this outcome")).to_be_visible()
    omar.get_by_role("button", name="Reject as fraud").click()
    told = omar.get_by_role("alert")
    expect(told).to_contain_text("olga has decided before")
    expect(told).to_contain_text("A list of all required terms.")
    expect(omar.get_by_role("region", name="olga has released this outcome")).to_contain_text("Headings, not stuffing.")
    expect(omar.get_by_role("button", name="Check and confirm")).to_have_count(0)
    hold = desk.do(get_hold(desk.bureau.deps, desk.holds[STUFFED]))
    assert (hold.decision, hold.decided_by) == (Decision.RELEASE, "olga")


def test_going_back_and_sending_again_decides_nothing_anew(visit: Visit, desk: Review) -> None:
    visitor = operator(visit, desk, PLAIN)
    page = visitor.page
    fill(page, "Release", "A batch that was agreed on.")
    page.get_by_role("button", name="Release").dblclick()
    expect(page.get_by_role("heading", name="You have released this outcome")).to_be_visible()
    assert len(desk.do(desk.bureau.reviews())) == 2  # the fixture's own is the other
