"""Visitor of a service with a browser."""

from pathlib import Path
from typing import Any, Literal, Protocol

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page

from aex_runtime.identity.principals import Principal

_EXPECTED = "Failed to load resource: the server responded with a status of 4"
"""Console message of the browser for a 404; tests look at the page itself."""

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (1440, 360)
_REDRAWN_MS = 200
"""Time after which a chart is redrawn for another width."""


class Service(Protocol):
    """A running service, and who it lets in."""

    @property
    def url(self) -> str: ...

    def token(self, who: Principal) -> str: ...


class Visitor:
    """Browser window on a service, with the errors and warnings of its console."""

    def __init__(self, service: Service, page: Page) -> None:
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

    def check_views(self, folder: Path, name: str) -> None:
        """Check accessibility and width in both colour schemes, wide and narrow, with details closed and open."""
        for scheme in SCHEMES:
            self.page.emulate_media(color_scheme=scheme)
            for width in WIDTHS:
                self.page.set_viewport_size({"width": width, "height": 900})
                self.page.wait_for_timeout(_REDRAWN_MS)
                self.page.screenshot(path=folder / f"{name}-{scheme}-{width}.png", full_page=True)
                assert self.overflow() == 0, (scheme, width)
                assert self.violations() == [], (scheme, width)
            self.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

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
