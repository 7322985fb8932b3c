import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from urllib.parse import quote_from_bytes

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.repository import hold_id_of
from aex_governance.review.decision_form import FormStep
from aex_models.governance import Decision
from aex_runtime.identity.principals import Principal
from tests.fuzz.effort import effort
from tests.services.governance.client import OLGA, ORIGIN, Client, make_flag, open_client
from tests.services.settlement.counter import Counter, open_counter
from tests.services.settlement.ledger_kit import ACME, BOT, FINANCE, ledger_kit_over, open_store
from tests.services.settlement.outcomes import NOON

Pairs = Sequence[tuple[str, bytes]]
HOLDS = 3
_TRAPS = ["", " ", "\0", "\r\n", "\u202e", "٣", "%", "&=", "..", "../..", "{{7*7}}", "<script>", "x" * 5_000]
_DAYS = ["2025-03-01", "0001-01-01", "9999-12-31", "2025-02-29", "+2025-03-01", "2025-3-1", "0000-00-00", "20250301"]
_WORDS = ["waiting", "decided", "settled", "USD", "XXX", "fraud_suspected", "self_dealing", "agent:bot", "ctr_1"]
_DECISIONS = ["release", "reject", "check", "change", "record", "/review", "//elsewhere", "looked into it"]
_NUMBERS = ["0", "-1", "1", "200", "201", "1e3", "9" * 30, "NaN", "1.0"]
_NAMES = "from to agent consumer domain currency status cause rule limit cursor seen"
_FIELDS = ["decision", "reason", "step", "token", "next", "ended", "csrf"]

VALUES = (
    st.sampled_from([*_TRAPS, *_DAYS, *_WORDS, *_DECISIONS, *_NUMBERS]).map(str.encode)
    | st.text(max_size=20).map(str.encode)
    | st.binary(max_size=12)
)
REQUESTS = st.lists(st.tuples(st.sampled_from(_NAMES.split()) | st.text(max_size=4), VALUES), max_size=4)
SENT = st.lists(st.tuples(st.sampled_from(_FIELDS) | st.text(max_size=4), VALUES), max_size=5)
DECIDED = st.tuples(
    st.tuples(st.just("decision"), st.sampled_from([each.encode() for each in Decision]) | VALUES),
    st.tuples(st.just("reason"), VALUES),
    st.tuples(st.just("step"), st.sampled_from([each.encode() for each in FormStep]) | VALUES),
)
_THERE = [b"ctr_1", b"agent:bot", b"platform:fees", hold_id_of("att_1").encode()]
PIECES = st.sampled_from(_THERE) | VALUES.map(lambda value: value[:200])
READERS = st.sampled_from([FINANCE, ACME, BOT])


def encoded(pairs: Pairs) -> str:
    """As it stands in an address or a form: of any bytes, UTF-8 or not."""
    return "&".join(f"{quote_from_bytes(name.encode())}={quote_from_bytes(value)}" for name, value in pairs)


def below(prefix: str, *folders: str) -> st.SearchStrategy[str]:
    """An address of a site: one of its pages, or whatever else is asked for below it."""
    inner = st.builds(
        lambda folder, name: f"/{folder}/{quote_from_bytes(name, safe='')}", st.sampled_from(folders), PIECES
    )
    first = st.sampled_from(["", "/", "/sign-in", *(f"/{folder}" for folder in folders)])
    return (first | inner).map(lambda rest: prefix + rest)


@pytest.fixture
async def counter(tmp_path: Path) -> AsyncIterator[Counter]:
    async with (
        open_store("memory", tmp_path) as store,
        open_counter(ledger_kit_over(store, NOON), tmp_path / "data") as opened,
    ):
        await opened.settle_a_few()
        await opened.seal()
        yield opened


@pytest.fixture
async def review(tmp_path: Path) -> AsyncIterator[Client]:
    async with open_client(tmp_path / "data") as opened:
        for number in range(HOLDS):
            await opened.hold(number, make_flag())
        yield opened


def check(answer: httpx.Response) -> None:
    """Assert a page without server error; an address of two lines is not found."""
    assert answer.status_code < 500, answer.text
    if "\n" in answer.request.url.path:
        assert answer.status_code == 404
        return
    assert answer.has_redirect_location or answer.headers["content-type"].startswith("text/"), answer.headers


@effort()
@given(READERS, below("/dashboard", "settlements", "accounts", "export", "static", "odd"), REQUESTS)
async def test_the_dashboard_answers_any_address(
    counter: Counter, reader: Principal, path: str, requests: Pairs
) -> None:
    headers = {"Authorization": f"Bearer {counter.issuer.mint(reader.id, reader.role)}"}
    check(await counter.client.get(f"{path}?{encoded(requests)}", headers=headers))


@effort()
@given(below("/review", "holds", "rules", "waiting", "static", "odd"), REQUESTS)
async def test_the_review_answers_any_address(review: Client, path: str, requests: Pairs) -> None:
    check(await review.http.get(f"{path}?{encoded(requests)}", headers=review.bearer(OLGA)))


@effort()
@given(st.integers(0, HOLDS - 1), SENT, DECIDED)
async def test_the_review_answers_any_form_about_a_hold(
    review: Client, number: int, sent: Pairs, decided: Pairs
) -> None:
    hold_id = hold_id_of(f"att_{number}")
    csrf = ("csrf", (await review.hold_form(hold_id))["csrf"].encode())
    check(await posted(review.http, f"/review/holds/{hold_id}", [*decided, *sent, csrf], review.bearer(OLGA)))


@effort()
@given(SENT)
async def test_signing_in_answers_any_form(review: Client, sent: Pairs) -> None:
    visible_text = await review.http.get("/review/sign-in")
    csrf = ("csrf", re.findall(r'name="csrf" value="([0-9a-f]{64})"', visible_text.text)[0].encode())
    check(await posted(review.http, "/review/sign-in", [*sent, csrf], {}))


async def posted(client: httpx.AsyncClient, path: str, fields: Pairs, headers: dict[str, str]) -> httpx.Response:
    form = {"Origin": ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    return await client.post(path, content=encoded(fields), headers=headers | form)
