import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from aex_governance.handlers.read_holds import get_hold
from aex_models.governance import Decision
from aex_runtime.identity.principals import Principal
from tests.browser.holdings import COPIED, DECIDED, FAILED, NASTY, PLAIN, STUFFED, Review, reviewed
from tests.browser.visiting import Visitor
from tests.services.governance.client import OLGA, OMAR

pytestmark = pytest.mark.e2e
OpenVisitor = Callable[..., Visitor]
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
def live_review(tmp_path: Path) -> Iterator[Review]:
    with reviewed(tmp_path) as service:
        yield service


def operator(open_visitor: OpenVisitor, service: Review, contract: str | None = None, who: Principal = OLGA) -> Visitor:
    visitor = open_visitor(service)
    visitor.sign_in(who, service.path(contract) if contract else "/review")
    return visitor


def fill(page: Page, choice: str, reason: str) -> None:
    page.get_by_role("radio", name=choice).check()
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name="Check and confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{choice}?")


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_accessible(open_visitor: OpenVisitor, review: Review, name: str) -> None:
    path = PAGES[name]
    visitor = operator(open_visitor, review)
    visitor.open(path if path.startswith("/") else review.path(path))
    visitor.check_views()


def test_decision_steps_are_accessible(open_visitor: OpenVisitor, live_review: Review) -> None:
    visitor = operator(open_visitor, live_review, COPIED)
    page = visitor.page
    page.evaluate("document.querySelectorAll('form').forEach((each) => { each.noValidate = true; })")
    page.get_by_role("button", name="Check and confirm").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose what to do")
    visitor.check_views()
    fill(page, "Reject as fraud", "Copied word by word.")
    visitor.check_views()
    live_review.do(live_review.client.decide(live_review.holds[COPIED], OMAR))
    page.get_by_role("button", name="Reject as fraud").click()
    expect(page.get_by_role("alert")).to_contain_text("not recorded")
    visitor.check_views()
    visitor.open(live_review.path(STUFFED))
    fill(page, "Release", "Headings, not stuffing.")
    page.get_by_role("button", name="Release").click()
    expect(page.get_by_role("heading", name="You have released this outcome")).to_be_visible()
    visitor.check_views()


def test_queue_is_ordered_by_age_and_filtered(open_visitor: OpenVisitor, review: Review) -> None:
    page = operator(open_visitor, review).page
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


def test_hidden_characters_are_displayed_as_text_and_the_id_is_copied(
    open_visitor: OpenVisitor, review: Review
) -> None:
    page = operator(open_visitor, review, COPIED).page
    flag = page.get_by_role("article", name="judge_injection")
    expect(flag).to_contain_text(NASTY)
    expect(flag).to_contain_text("U+202E right-to-left override")
    expect(flag).to_contain_text("9 tag characters that spell “score 1.0”")
    expect(flag.get_by_text("all 673 characters")).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy contract id").click()
    expect(page.get_by_role("button", name="Copy contract id")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == COPIED


def test_decision_works_with_the_keyboard(open_visitor: OpenVisitor, live_review: Review) -> None:
    visitor = open_visitor(live_review)
    page = visitor.page
    visitor.open("/review")
    page.keyboard.insert_text(live_review.token(OLGA))
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


def test_decision_works_without_scripts(open_visitor: OpenVisitor, live_review: Review) -> None:
    signed_in = operator(open_visitor, live_review)
    page = signed_in.without_scripts()
    page.goto(f"{live_review.url}{live_review.path(FAILED)}")
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
    page.context.close()


def test_concurrent_operators_leave_one_decision(open_visitor: OpenVisitor, live_review: Review) -> None:
    olga, omar = (operator(open_visitor, live_review, STUFFED, who).page for who in (OLGA, OMAR))
    fill(olga, "Release", "Headings, not stuffing.")
    fill(omar, "Reject as fraud", "A list of all required terms.")
    olga.get_by_role("button", name="Release").click()
    expect(olga.get_by_role("heading", name="You have released this outcome")).to_be_visible()
    omar.get_by_role("button", name="Reject as fraud").click()
    alert = omar.get_by_role("alert")
    expect(alert).to_contain_text("olga has decided before")
    expect(alert).to_contain_text("A list of all required terms.")
    expect(omar.get_by_role("region", name="olga has released this outcome")).to_contain_text("Headings, not stuffing.")
    expect(omar.get_by_role("button", name="Check and confirm")).to_have_count(0)
    hold = live_review.do(get_hold(live_review.client.deps, live_review.holds[STUFFED]))
    assert (hold.decision, hold.decided_by) == (Decision.RELEASE, "olga")


def test_repeated_submission_decides_once_and_the_waiting_count_refreshes(
    open_visitor: OpenVisitor, live_review: Review
) -> None:
    page = operator(open_visitor, live_review).page
    expect(page.get_by_role("status")).to_contain_text("5 waiting")
    page.get_by_role("link", name=PLAIN).click()
    fill(page, "Release", "A batch that was agreed on.")
    page.get_by_role("button", name="Release").dblclick()
    expect(page.get_by_role("heading", name="You have released this outcome")).to_be_visible()
    assert len(live_review.do(live_review.client.reviews())) == 2  # the fixture's own is the other
    page.goto(f"{live_review.url}/review")
    live_review.do(live_review.client.decide(live_review.holds[FAILED], OMAR))
    page.evaluate("htmx.ajax('GET', '/review/waiting', {target: '#waiting', swap: 'outerHTML'})")
    expect(page.get_by_role("status")).to_contain_text("3 waiting")
