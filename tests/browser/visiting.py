"""Visitor of a service with a browser."""

from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page

from aex_runtime.identity.principals import Principal
from tests.browser.running import Running

_EXPECTED = "Failed to load resource: the server responded with a status of 4"
"""Console message of the browser for a 404; tests look at the page itself."""

VIEWS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1440), ("dark", 360))
_REDRAWN_MS = 200
"""Time after which a chart is redrawn for another width."""


class Visitor:
    """Browser window on a service, with the errors and warnings of its console."""

    def __init__(self, service: Running, page: Page) -> None:
        self.service, self.page = service, page
        self.complaints: list[str] = []
        page.on("console", self._record_message)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, path: str) -> int:
        """Go to a path; the status of the answer."""
        answer = self.page.goto(f"{self.service.url}{path}")
        assert answer is not None
        return answer.status

    def sign_in(self, who: Principal, path: str = "/dashboard") -> None:
        """Open a page, and sign in on the way."""
        self.open(path)
        self.page.get_by_label("Access token").fill(self.service.token(who))
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self.service.url}{path}")

    def violations(self) -> list[str]:
        found: dict[str, Any] = Axe().run(self.page).response
        return [f"{each['id']}: {node['html']}" for each in found["violations"] for node in each["nodes"]]

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def check_views(self) -> None:
        """Check the width of the page in both windows, and accessibility in both colour schemes.

        The wide page is light with its details closed, the narrow one dark with them open.
        """
        for scheme, width in VIEWS:
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.wait_for_timeout(_REDRAWN_MS)
            assert self.overflow() == 0, (scheme, width)
            assert self.violations() == [], (scheme, width)
            self.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert self.overflow() == 0, "with details open"

    def without_scripts(self) -> Page:
        """Return a page of the same session without JavaScript; its context stays open."""
        browser = self.page.context.browser
        assert browser is not None
        plain = browser.new_context(java_script_enabled=False)
        plain.add_cookies(self.page.context.cookies())  # type: ignore[arg-type]  # the same, typed as given out
        return plain.new_page()

    def _record_message(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(_EXPECTED):
            self.complaints.append(message.text)
