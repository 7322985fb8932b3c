"""Signing in with a token: by a cookie that nobody else reads, for as long as the token is good."""

from datetime import timedelta
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import pytest

from aex_runtime.pages.sessions import session_cookie
from tests.libs.runtime.pages.site import Visited, csrf_in


async def test_a_page_sends_whoever_has_not_signed_in_to_do_so_and_back(notes: Visited) -> None:
    sent = await notes.client.get("/notes?text=x%26y")
    assert sent.status_code == 303
    assert sent.headers["location"] == "/notes/sign-in?next=%2Fnotes%3Ftext%3Dx%2526y"
    form = await notes.client.get(sent.headers["location"])
    fields = {"csrf": csrf_in(form.text), "token": notes.token(), "next": "/notes?text=x%26y"}
    back = await notes.post("/notes/sign-in", fields)
    assert (back.status_code, back.headers["location"]) == (303, "/notes?text=x%26y")
    assert "ada x&amp;y" in (await notes.client.get(back.headers["location"])).text


async def test_the_session_cookie_is_for_this_service_alone_and_ends_with_the_token(notes: Visited) -> None:
    cookie = SimpleCookie((await notes.sign_in()).headers.get_list("set-cookie")[0])["aex_work-publisher_session"]
    assert (cookie["path"], cookie["samesite"].lower(), cookie["httponly"]) == ("/notes", "strict", True)
    assert not cookie["secure"]
    assert int(cookie["max-age"]) == 12 * 3600 + 30  # and the verifier's leeway


async def test_over_https_every_cookie_is_secure(notes: Visited) -> None:
    form = await notes.client.get("/notes/sign-in", headers={"X-Forwarded-Proto": "https"})
    (kept,) = form.headers.get_list("set-cookie")
    assert "Secure" in kept
    visit = kept.partition(";")[0]
    fields = {"csrf": csrf_in(form.text), "token": notes.token()}
    headers = {"X-Forwarded-Proto": "https", "Origin": "https://notes.example", "Cookie": visit}
    answer = await notes.client.post("/notes/sign-in", data=fields, headers=headers)
    assert answer.status_code == 303, answer.text
    assert all("Secure" in each for each in answer.headers.get_list("set-cookie"))


async def test_an_expired_session_is_over_and_says_so(notes: Visited) -> None:
    await notes.sign_in()
    notes.clock.advance(timedelta(hours=13))
    sent = await notes.client.get("/notes")
    assert sent.status_code == 303
    assert "ended=1" in sent.headers["location"]
    assert "Max-Age=0" in sent.headers["set-cookie"]
    assert "Your session has ended" in (await notes.client.get(sent.headers["location"])).text


async def test_a_script_is_told_where_to_sign_in_and_puts_no_form_in_a_corner(notes: Visited) -> None:
    sent = await notes.client.get("/notes", headers={"HX-Request": "true"})
    assert (sent.status_code, sent.headers["hx-redirect"]) == (401, "/notes/sign-in?next=%2Fnotes")


@pytest.mark.parametrize("token", ["", " ", "not.a.token", "x" * 9_000, "é", "a b"])
async def test_a_bad_token_is_refused_and_never_sent_back(notes: Visited, token: str) -> None:
    answer = await notes.sign_in(token or " ")
    assert answer.status_code == 400
    assert session_cookie(notes.site) not in answer.cookies
    assert 'role="alert"' in answer.text
    assert token.strip() == "" or token not in answer.text


async def test_a_token_of_a_role_that_may_not_is_refused(notes: Visited) -> None:
    answer = await notes.sign_in(notes.token("agent"))
    assert answer.status_code == 403
    assert "role is agent" in answer.text
    assert session_cookie(notes.site) not in notes.client.cookies


async def test_a_token_for_another_service_is_refused(notes: Visited) -> None:
    answer = await notes.sign_in(notes.issuer.mint("ada", "finance", ["settlement"]))
    assert answer.status_code == 400
    assert session_cookie(notes.site) not in notes.client.cookies


async def test_a_token_that_no_cookie_can_hold_is_refused_with_the_reason(notes: Visited) -> None:
    long = notes.issuer.mint("ada", "finance", ["work-publisher", *(f"other-{n:04}" for n in range(300))])
    answer = await notes.sign_in(long)
    assert answer.status_code == 400
    assert "at most 3800 characters" in answer.text


async def test_signing_out_ends_the_session(notes: Visited) -> None:
    await notes.sign_in()
    page = await notes.client.get("/notes")
    out = await notes.post("/notes/sign-out", {"csrf": csrf_in(page.text)})
    assert (out.status_code, out.headers["location"]) == (303, "/notes/sign-in")
    assert session_cookie(notes.site) not in notes.client.cookies
    assert (await notes.client.get("/notes")).status_code == 303


async def test_whoever_has_signed_in_needs_no_form(notes: Visited) -> None:
    await notes.sign_in()
    answer = await notes.client.get("/notes/sign-in", params={"next": "/notes?text=x"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/notes?text=x")


async def test_a_link_from_elsewhere_is_followed_once_more_by_a_page_of_ours(notes: Visited) -> None:
    answer = await notes.client.get("/notes?text=x", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert 'content="0; url=/notes?text=x"' in answer.text
    assert "ada" not in answer.text


async def test_a_bearer_token_opens_a_page_too(notes: Visited) -> None:
    answer = await notes.client.get("/notes", headers={"Authorization": f"Bearer {notes.token()}"})
    assert answer.status_code == 200


async def test_no_page_holds_the_token_and_the_navigation_is_the_readers(notes: Visited) -> None:
    token = notes.token("consumer", "org/x")
    await notes.sign_in(token)
    page = await notes.client.get("/notes")
    assert token not in page.text
    assert '<a href="/notes/of/consumer:org/x">Yours</a>' in page.text
    assert ">All<" not in page.text


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/notes\\..\\evil",
        "/notes//evil.example",
        "/notes/../v1/notes",
        "/notes/%2e%2e/v1/notes",
        "/notes/.%2E/v1/notes",
        "/notes/%2e/x",
        "/notes/%2fevil.example",
        "/notesx",
        "/elsewhere",
        "javascript:alert(1)",
        "/notes\r\nSet-Cookie: a=b",
        "/notes/sign-out",
        "/notes/sign-in?next=/notes/sign-in",
        "",
    ],
)
async def test_signing_in_leads_nowhere_but_to_pages_of_the_site(notes: Visited, target: str) -> None:
    answer = await notes.sign_in(target=target)
    assert (answer.status_code, answer.headers["location"]) == (303, "/notes")


async def test_a_long_address_is_not_carried_along(notes: Visited) -> None:
    target = "/notes?text=" + "x" * (2_000 - len("/notes?text="))
    sent = await notes.client.get(target)
    assert sent.headers["location"] == f"/notes/sign-in?{urlencode({'next': target})}"
    assert (await notes.sign_in(target=target)).headers["location"] == target
    notes.client.cookies.clear()
    long = await notes.client.get("/notes", params={"text": "x" * 60_000})
    assert (long.status_code, long.headers["location"]) == (303, "/notes/sign-in")


async def test_the_first_page_is_there_with_a_slash_too(notes: Visited) -> None:
    await notes.sign_in()
    sent = await notes.client.get("/notes/?text=x%26y")
    assert (sent.status_code, sent.headers["location"]) == (303, "/notes?text=x%26y")
    assert (await notes.client.get("/notes/")).headers["location"] == "/notes"
