"""The dashboard in a browser without scripts: sign-in by form, and tables of the pages."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx

from tests.e2e.live import ANSWER_S, Live
from tests.e2e.parties import Caller

Table = list[tuple[str, ...]]
"""The cells of each row, as text with single spaces."""


@dataclass
class Page(HTMLParser):
    """Content of a page: tables, hidden form fields and text."""

    tables: list[Table] = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)
    _row: list[list[str]] | None = None
    _texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    @property
    def text(self) -> str:
        """Return the text of the page with single spaces."""
        return " ".join(" ".join(self._texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self._row = []
        elif tag in {"td", "th"} and self._row is not None:
            self._row.append([])
        elif tag == "input" and given.get("type") == "hidden":
            self.hidden[given["name"] or ""] = given["value"] or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr" and self._row is not None:
            self.tables[-1].append(tuple(" ".join(" ".join(cell).split()) for cell in self._row))
            self._row = None

    def handle_data(self, data: str) -> None:
        self._texts.append(data)
        if self._row:
            self._row[-1].append(data)


def parsed(html: str) -> Page:
    """A page, read."""
    page = Page()
    page.feed(html)
    return page


def dashboard_page(live: Live, reader: Caller, path: str) -> Page:
    """A page below `/dashboard`, after signing in with the reader's token."""
    base = live.url("settlement", "")
    with httpx.Client(
        base_url=base, timeout=ANSWER_S, trust_env=False, headers={"Accept-Language": "en-US"}, follow_redirects=True
    ) as browser:
        requested = browser.get(f"/dashboard{path}")
        form = parsed(requested.text).hidden | {"token": reader.token}
        visible = browser.post(str(requested.url.path), data=form, headers={"Origin": base})
        assert visible.is_success, visible.text
        assert visible.url.path == f"/dashboard{path}"
        return parsed(visible.text)
