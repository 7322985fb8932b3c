import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from urllib.parse import parse_qsl

import httpx
import pytest

from aex_models.contract import Terms
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.factory import open_bus
from aex_runtime.http.app import build_app
from aex_runtime.identity.principals import Principal
from aex_runtime.pages.errors import page_router
from aex_runtime.service import Backends, assemble
from aex_settlement.dashboard.routes import add_overview_page, build_dashboard_site
from aex_settlement.settings import Settings
from tests.browser.books import BY_HAND, NASTY, by_hand
from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import ACME, FINANCE

PAGES = ("/dashboard", "/dashboard/settlements", "/dashboard/settlements/ctr_0", "/dashboard/export")
MONTH = {"from": "2025-03-01", "to": "2025-03-31"}


async def page(counter: Counter, reader: Principal, path: str, **query: str) -> str:
    answer = await counter.ask(reader, path, **query)
    assert answer.status_code == 200, answer.text
    return answer.text


async def visited(counter: Counter, reader: Principal, address: str) -> httpx.Response:
    path, _, query = address.partition("?")
    return await counter.ask(reader, path, **dict(parse_qsl(query)))


@asynccontextmanager
async def visitor_of_overview(counter: Counter, folder: Path, max_rows: int) -> AsyncIterator[httpx.AsyncClient]:
    deps = counter.ledger.deps
    backends = Backends(deps.store, open_bus("memory:"), open_blobs("memory:"), deps.clock, deps.ids)
    parts = assemble("settlement", Settings(data_dir=folder), backends)
    router = page_router()
    add_overview_page(router, build_dashboard_site(parts), deps, max_rows)
    headers = {"Authorization": f"Bearer {counter.issuer.mint(FINANCE.id, FINANCE.role)}"}
    transport = httpx.ASGITransport(build_app(parts, router))
    async with httpx.AsyncClient(transport=transport, base_url="http://settlement", headers=headers) as client:
        yield client


def tiles(html: str) -> Mapping[str, str]:
    found = re.findall(r"<dt>([^<]+)</dt><dd[^>]*>([^<]+)", html)
    return {name: figure.strip() for name, figure in found}


async def test_no_penalty_is_no_negative_amount_and_every_minus_is_the_locales(counter: Counter) -> None:
    await counter.settle("ctr_0")
    await counter.settle(BY_HAND, **by_hand())
    detail = await page(counter, FINANCE, "/dashboard/settlements/ctr_0")
    assert ">$0.00<" in detail
    assert "-$0.00" not in detail
    address = f"/dashboard/settlements/{BY_HAND}"
    for locale, amount in (("en", "-$0.015"), ("sv", "-0,015\xa0US$"), ("de", "-0,015\xa0$")):
        headers = {"Authorization": f"Bearer {counter.issuer.mint('ada', 'finance')}", "Accept-Language": locale}
        answer = await counter.client.get(address, headers=headers)
        assert f">{amount}<" in answer.text


async def test_the_list_is_by_no_currency_and_says_by_which_day_it_goes(counter: Counter) -> None:
    await counter.settle("ctr_0")
    await counter.settle("ctr_eur", terms=Terms(cpc_rate=Decimal(2), currency="EUR"))
    html = await page(counter, FINANCE, "/dashboard/settlements", **MONTH, currency="EUR")
    assert "ctr_0" in html
    assert "ctr_eur" in html
    assert "currency=" not in html
    assert "First settled from 2025-03-01 to 2025-03-31" in html
    assert "totals and the CSV go by the day on which something was booked" in html


async def test_the_overview_leads_to_the_list_without_a_currency(counter: Counter) -> None:
    await counter.settle("ctr_0")
    await counter.seal()
    for currency in ("USD", "CHF"):
        html = await page(counter, FINANCE, "/dashboard", **MONTH, currency=currency)
        links = re.findall(r'href="(/dashboard/settlements\?[^"]*)"', html)
        assert links
        assert not any("currency" in link for link in links)


async def test_more_parties_than_can_be_ranked_leave_totals_and_chart(counter: Counter, tmp_path: Path) -> None:
    await counter.settle_a_few()
    await counter.settle("ctr_8", agent_id="scribe")
    await counter.seal()
    async with visitor_of_overview(counter, tmp_path / "data", max_rows=2) as client:
        html = (await client.get("/dashboard", params=MONTH)).text
        narrowed = (await client.get("/dashboard", params=MONTH | {"domain": "physics"})).text
    assert tiles(html)["Total"] == "$13.50"
    assert 'data-chart="stack"' in html
    assert "Too many agents to rank: choose a filter" in html
    assert "Too many consumers" not in html
    assert "Consumers by total" in html
    assert "Too many" not in narrowed


async def test_a_settlement_with_many_revisions_shows_them_all(counter: Counter) -> None:
    await counter.settle("ctr_0")
    for number in range(7):
        replacement = {"base": f"{number}.00", "bonus": "0.00", "penalty": "0.00"}
        assert (await counter.reverse("ctr_0", replacement=replacement)).status_code == 201
    html = await page(counter, FINANCE, "/dashboard/settlements/ctr_0")
    assert html.count('<th scope="rowgroup"') == 15


async def test_the_dashboard_is_there_with_a_slash_too(counter: Counter) -> None:
    answer = await counter.ask(FINANCE, "/dashboard/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard")


async def test_every_figure_of_the_overview_is_the_breakdowns(counter: Counter) -> None:
    await counter.settle_a_few()
    await counter.seal()
    narrow = MONTH | {"agent": "crew", "consumer": "globex"}
    assert tiles(await page(counter, FINANCE, "/dashboard", **narrow, domain="physics"))["Total"] == "$1.50"
    nothing = await page(counter, FINANCE, "/dashboard", **narrow, domain="chemistry")
    assert "No settlement of this period matches all filters" in nothing
    for reader, query in (
        (FINANCE, {}),
        (FINANCE, {"agent": "bot"}),
        (FINANCE, {"agent": "bot", "domain": "physics"}),
        (ACME, {}),
    ):
        html = await page(counter, reader, "/dashboard", **MONTH, **query)
        found = await counter.read(reader, "/v1/settlements/breakdown", group_by="agent,domain", **MONTH)
        rows = [row for row in found["rows"] if all(row[name] == value for name, value in query.items())]
        total = sum(Decimal(row["total"]) for row in rows)
        assert tiles(html)["Total"] == f"${total:.2f}"
        assert tiles(html)["Settlements, less reversals"] == str(sum(row["count"] for row in rows))


async def test_reversal_counts_negatively_on_its_own_day(counter: Counter) -> None:
    await counter.settle("ctr_0")
    await counter.seal()
    await counter.reverse("ctr_0")
    await counter.seal()
    assert tiles(await page(counter, FINANCE, "/dashboard", **MONTH))["Total"] == "$0.00"
    detail = await page(counter, FINANCE, "/dashboard/settlements/ctr_0")
    assert "booked twice" in detail
    assert "by ledger-desk" in detail
    assert "by ledger-desk" not in await page(counter, ACME, "/dashboard/settlements/ctr_0")


async def test_the_trial_balance_sums_to_zero_and_keeps_its_past(counter: Counter) -> None:
    await counter.settle("ctr_0")
    await counter.seal()
    counter.ledger.clock.advance(timedelta(seconds=1))
    past = counter.ledger.clock.now().isoformat().replace("+00:00", "Z")
    before = await page(counter, FINANCE, "/dashboard/accounts", as_of=past)
    assert "balances: sums to zero" in before
    counter.ledger.clock.advance(timedelta(seconds=1))
    await counter.settle("ctr_1")
    await counter.seal()
    after = await page(counter, FINANCE, "/dashboard/accounts", as_of=past)
    assert after.partition("<table>")[2] == before.partition("<table>")[2]
    assert "$3.00" in await page(counter, FINANCE, "/dashboard/accounts")


async def test_text_of_other_parties_is_escaped(counter: Counter) -> None:
    await counter.settle("ctr_0", domain=f"d{NASTY}", work_id=f'"{NASTY}')  # ids of parties name accounts
    await counter.seal()
    assert (await counter.reverse("ctr_0", reason=f"because {NASTY}")).status_code == 201
    await counter.seal()
    nasty = [
        await page(counter, FINANCE, path, **({} if path.endswith("ctr_0") else MONTH))
        for path in ("/dashboard", "/dashboard/settlements", "/dashboard/settlements/ctr_0")
    ]
    for html in nasty:
        assert "&lt;script&gt;" in html
        assert NASTY not in html
        assert "<script>" not in html
    for path in (
        f"/dashboard?agent={NASTY}",
        f"/dashboard/settlements/{NASTY}",
        f"/dashboard/accounts?account={NASTY}",
    ):
        assert NASTY not in (await visited(counter, FINANCE, path)).text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/dashboard?from=x", 400),
        ("/dashboard?from=2025-03-02&to=2025-03-01", 400),
        ("/dashboard?currency=usd", 400),
        ("/dashboard/settlements?cursor=x", 400),
        ("/dashboard/settlements?limit=0", 422),
        ("/dashboard/accounts?as_of=now", 400),
        ("/dashboard/export?status=open", 400),
        ("/dashboard/nowhere", 404),
    ],
)
async def test_what_makes_no_sense_is_a_page_that_says_why(counter: Counter, path: str, status: int) -> None:
    answer = await visited(counter, FINANCE, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")


@pytest.mark.parametrize("days", [MONTH, {}], ids=["of a month", "as it is opened"])
async def test_a_long_list_is_paged_and_keeps_its_filter(counter: Counter, days: dict[str, str]) -> None:
    await counter.settle_a_few()
    html = await page(counter, FINANCE, "/dashboard/settlements", **days, limit="3", domain="physics")
    older = re.search(r'rel="next" href="([^"]+)"', html)
    assert older is not None
    following = (await visited(counter, FINANCE, older[1].replace("&amp;", "&"))).text
    assert "Back to the newest" in following
    assert len(re.findall(r"/settlements/ctr_", html)) == 3
    assert len(re.findall(r"/settlements/ctr_", following)) == 1


async def test_an_empty_book_says_what_to_do(counter: Counter) -> None:
    assert "A settlement appears here" in await page(counter, FINANCE, "/dashboard")
    assert "Nothing has been sealed yet" in await page(counter, FINANCE, "/dashboard/accounts")
    assert "Nothing was posted here yet" in await page(counter, ACME, "/dashboard/accounts/consumer:acme")


async def test_long_period_is_displayed_by_month(counter: Counter) -> None:
    await counter.settle("ctr_0")
    await counter.seal()
    html = await page(counter, FINANCE, "/dashboard", **{"from": "2024-03-01", "to": "2025-03-31"})
    assert "Base, bonus and penalty by month" in html
    assert 'data-at="2025-03"' in html
