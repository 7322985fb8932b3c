"""A browser of the machine and the settlement service with two months of settlements."""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.holdings import Review, reviewed
from tests.browser.running import Running, Served, served
from tests.browser.visiting import Visitor
from tests.services.settlement.ledger_kit import FINANCE

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="package")  # no longer: its driver keeps an event loop, beside which no other test could run one
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing = "no chromium on this machine: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        # Without its sandbox, which root cannot have; the pages are our own.
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service, filled; nothing is written to it any more."""
    with served(tmp_path_factory.mktemp("books")) as service:
        yield service


@pytest.fixture(scope="session")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Review]:
    """The governance service with holds; nothing is decided there any more."""
    with reviewed(tmp_path_factory.mktemp("review")) as service:
        yield service


@pytest.fixture
def open_visitor(browser: Browser) -> Iterator[Callable[..., Visitor]]:
    opened: list[Visitor] = []

    def visitor(service: Running, *, width: int = 1440, scheme: str = "light", language: str = "en-US") -> Visitor:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            locale=language,
            reduced_motion="reduce",
        )
        opened.append(Visitor(service, context.new_page()))
        return opened[-1]

    yield visitor
    for each in opened:
        each.page.context.close()
    assert [complaint for each in opened for complaint in each.complaints] == []


@pytest.fixture
def finance(open_visitor: Callable[..., Visitor], books: Served) -> Visitor:
    """Finance, signed in."""
    visitor = open_visitor(books)
    visitor.sign_in(FINANCE)
    return visitor


@pytest.fixture
def page(finance: Visitor) -> Page:
    """The page that finance looks at."""
    return finance.page
