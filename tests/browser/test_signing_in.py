from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect

from aex_models.audiences import Audience
from aex_runtime.identity.principals import Principal
from tests.browser.running import Served, served
from tests.browser.visiting import Visitor
from tests.services.settlement.ledger_kit import ACME, FINANCE

pytestmark = pytest.mark.e2e
OpenVisitor = Callable[..., Visitor]


def test_valid_token_opens_the_requested_page(open_visitor: OpenVisitor, books: Served) -> None:
    visitor = open_visitor(books)
    visitor.sign_in(FINANCE, "/dashboard/settlements?status=reversed")
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Settlements")
    assert visitor.page.evaluate("document.cookie") == ""
    (cookie,) = [each for each in visitor.page.context.cookies() if each["name"] == "aex_settlement_session"]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/dashboard")


def test_invalid_token_shows_an_error_and_the_form(open_visitor: OpenVisitor, books: Served) -> None:
    visitor = open_visitor(books)
    page = visitor.page
    visitor.open("/dashboard")
    page.get_by_label("Access token").fill("nonsense")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("that is no token")
    expect(page.get_by_label("Access token")).to_have_value("")
    page.get_by_label("Access token").fill(books.token(Principal("ops", Audience.OPERATOR)))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("role is operator")
    page.get_by_label("Access token").fill(books.token(ACME))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_signing_out_closes_every_page(finance: Visitor) -> None:
    page = finance.page
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    finance.open("/dashboard/accounts")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_expired_session_leads_to_sign_in(open_visitor: OpenVisitor, tmp_path: Path) -> None:
    with served(tmp_path, filled=False) as service:
        visitor = open_visitor(service)
        visitor.sign_in(FINANCE)
        service.counter.ledger.clock.advance(timedelta(hours=13))
        visitor.page.get_by_role("button", name="Show").click()
        expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Sign in")
        expect(visitor.page.get_by_role("status")).to_contain_text("Your session has ended")


def test_form_on_another_site_is_refused_and_a_link_keeps_the_session(finance: Visitor) -> None:
    page = finance.page
    csrf = page.locator("form.leave [name=csrf]").input_value()
    # The same machine under another name: another site to the browser.
    other_site = finance.service.url.replace("127.0.0.1", "localhost") + "/docs/start.js"
    page.goto(other_site)
    page.set_content(
        f'<form method="post" action="{finance.service.url}/dashboard/sign-out">'
        f'<input name="csrf" value="{csrf}"><button>Win</button></form>'
    )
    page.get_by_role("button", name="Win").click()
    page.wait_for_url("**/dashboard/**")
    finance.open("/dashboard")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.goto(other_site)
    page.set_content(f'<a href="{finance.service.url}/dashboard/accounts">Look</a>')
    page.get_by_role("link", name="Look").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Trial balance")
