"""Somebody at a browser."""

from typing import Any, Protocol

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page

from aex_runtime.identity.principal import Principal

_EXPECTED = "Failed to load resource: the server responded with a status of 4"
"""What the browser notes of a page that says 404; tests look at the page itself."""


class Service(Protocol):
    """A running service, and who it lets in."""

    @property
    def url(self) -> str: ...

    def token(self, who: Principal) -> str: ...


class Visitor:
    """A window on a service, and what its console complained of: a policy that was broken, a script that failed."""

    def __init__(self, service: Service, page: Page) -> None:
        self.service, self.page = service, page
        self.complaints: list[str] = []
        page.on("console", self._heard)
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
        """What axe finds on the page as it is."""
        found: dict[str, Any] = Axe().run(self.page).response
        return [f"{each['id']}: {node['html']}" for each in found["violations"] for node in each["nodes"]]

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(_EXPECTED):
            self.complaints.append(message.text)
