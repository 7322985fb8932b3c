from datetime import timedelta
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import pytest

from aex_runtime.pages.sessions import session_cookie_name
from tests.libs.runtime.pages.site import Visited, csrf_in


async def test_sign_in_returns_to_the_requested_page(notes: Visited) -> None:
    sent = await notes.client.get("/notes?text=x%26y")
    assert sent.status_code == 303
    assert sent.headers["location"] == "/notes/sign-in?next=%2Fnotes%3Ftext%3Dx%2526y"
    form = await notes.client.get(sent.headers["location"])
    fields = {"csrf": csrf_in(form.text), "token": notes.token(), "next": "/notes?text=x%26y"}
    back = await notes.post("/notes/sign-in", fields)
    assert (back.status_code, back.headers["location"]) == (303, "/notes?text=x%26y")
    assert "ada x&amp;y" in (await notes.client.get(back.headers["location"])).text


async def test_session_cookie_is_scoped_and_ends_with_the_token(notes: Visited) -> None:
    cookie = SimpleCookie((await notes.sign_in()).headers.get_list("set-cookie")[0])["aex_work-publisher_session"]
    assert (cookie["path"], cookie["samesite"].lower(), cookie["httponly"]) == ("/notes", "strict", True)
    assert not cookie["secure"]
    assert int(cookie["max-age"]) == 12 * 3600 + 30  # and the verifier's leeway


async def test_cookies_over_https_are_secure(notes: Visited) -> None:
    form = await notes.client.get("/notes/sign-in", headers={"X-Forwarded-Proto": "https"})
    (kept,) = form.headers.get_list("set-cookie")
    assert "Secure" in kept
    visitor = kept.partition(";")[0]
    fields = {"csrf": csrf_in(form.text), "token": notes.token()}
    headers = {"X-Forwarded-Proto": "https", "Origin": "https://notes.example", "Cookie": visitor}
    answer = await notes.client.post("/notes/sign-in", data=fields, headers=headers)
    assert answer.status_code == 303, answer.text
    assert all("Secure" in each for each in answer.headers.get_list("set-cookie"))


async def test_expired_session_leads_to_sign_in(notes: Visited) -> None:
    await notes.sign_in()
    notes.clock.advance(timedelta(hours=13))
    sent = await notes.client.get("/notes")
    assert sent.status_code == 303
    assert "ended=1" in sent.headers["location"]
    assert "Max-Age=0" in sent.headers["set-cookie"]
    assert "Your session has ended" in (await notes.client.get(sent.headers["location"])).text


async def test_htmx_request_gets_a_redirect_header(notes: Visited) -> None:
    sent = await notes.client.get("/notes", headers={"HX-Request": "true"})
    assert (sent.status_code, sent.headers["hx-redirect"]) == (401, "/notes/sign-in?next=%2Fnotes")


@pytest.mark.parametrize("token", ["", " ", "not.a.token", "x" * 9_000, "é", "a b"])
async def test_bad_token_is_refused_and_not_sent_back(notes: Visited, token: str) -> None:
    answer = await notes.sign_in(token or " ")
    assert answer.status_code == 400
    assert session_cookie_name(notes.site) not in answer.cookies
    assert 'role="alert"' in answer.text
    assert token.strip() == "" or token not in answer.text


@pytest.mark.parametrize(
    ("role", "audiences", "status", "text"),
    [
        ("agent", ["work-publisher"], 403, "role is agent"),
        ("finance", ["settlement"], 400, "the token is not for work-publisher"),
        ("finance", ["work-publisher", *(f"other-{n:04}" for n in range(300))], 400, "at most 3800 characters"),
    ],
)
async def test_unusable_token_is_refused(
    notes: Visited, role: str, audiences: list[str], status: int, text: str
) -> None:
    answer = await notes.sign_in(notes.issuer.mint("ada", role, audiences))
    assert answer.status_code == status
    assert text in answer.text
    assert session_cookie_name(notes.site) not in notes.client.cookies


async def test_signing_out_ends_the_session(notes: Visited) -> None:
    await notes.sign_in()
    page = await notes.client.get("/notes")
    out = await notes.post("/notes/sign-out", {"csrf": csrf_in(page.text)})
    assert (out.status_code, out.headers["location"]) == (303, "/notes/sign-in")
    assert (await notes.client.get("/notes")).status_code == 303


async def test_cross_site_link_is_reloaded_and_bearer_token_is_enough(notes: Visited) -> None:
    answer = await notes.client.get("/notes", headers={"Authorization": f"Bearer {notes.token()}"})
    assert answer.status_code == 200
    answer = await notes.client.get("/notes?text=x", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert 'content="0; url=/notes?text=x"' in answer.text
    assert "ada" not in answer.text


async def test_page_shows_the_readers_navigation_and_no_token(notes: Visited) -> None:
    token = notes.token("consumer", "org/x")
    await notes.sign_in(token)
    page = await notes.client.get("/notes")
    assert token not in page.text
    assert '<a href="/notes/of/consumer:org/x">Yours</a>' in page.text
    assert ">All<" not in page.text


OUTSIDE = (
    *("https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "/notes\\..\\evil"),
    *("/notes//evil.example", "/notes/../v1/notes", "/notes/%2e%2e/v1/notes", "/notes/.%2E/v1/notes", "/notes/%2e/x"),
    *("/notes/%2fevil.example", "/notesx", "/elsewhere", "javascript:alert(1)", "/notes\r\nSet-Cookie: a=b", ""),
    *("/notes/sign-out", "/notes/sign-in?next=/notes/sign-in"),
)


@pytest.mark.parametrize("target", OUTSIDE)
async def test_sign_in_redirects_within_the_site_only(notes: Visited, target: str) -> None:
    answer = await notes.sign_in(target=target)
    assert (answer.status_code, answer.headers["location"]) == (303, "/notes")


async def test_long_target_is_dropped(notes: Visited) -> None:
    target = "/notes?text=" + "x" * (2_000 - len("/notes?text="))
    sent = await notes.client.get(target)
    assert sent.headers["location"] == f"/notes/sign-in?{urlencode({'next': target})}"
    assert (await notes.sign_in(target=target)).headers["location"] == target
    notes.client.cookies.clear()
    long = await notes.client.get("/notes", params={"text": "x" * 60_000})
    assert (long.status_code, long.headers["location"]) == (303, "/notes/sign-in")


async def test_open_session_is_redirected_from_sign_in_and_slash(notes: Visited) -> None:
    await notes.sign_in()
    answer = await notes.client.get("/notes/sign-in", params={"next": "/notes?text=x"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/notes?text=x")
    sent = await notes.client.get("/notes/?text=x%26y")
    assert (sent.status_code, sent.headers["location"]) == (303, "/notes?text=x%26y")
    assert (await notes.client.get("/notes/")).headers["location"] == "/notes"
