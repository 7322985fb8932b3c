from collections.abc import Mapping

import pytest

from tests.libs.runtime.pages.site import ORIGIN, Visited, csrf_in


async def session_csrf(notes: Visited, role: str = "finance", sub: str = "ada") -> str:
    await notes.sign_in(notes.token(role, sub))
    return csrf_in((await notes.client.get("/notes")).text)


async def test_own_form_is_accepted(notes: Visited) -> None:
    fields = {"csrf": await session_csrf(notes), "text": "péage & co"}
    assert (await notes.post("/notes/save", fields)).status_code == 303
    for one in ({"Origin": f"{ORIGIN}:80"}, {"Sec-Fetch-Site": "same-origin"}):
        assert (await notes.client.post("/notes/save", data=fields, headers=one)).status_code == 303
    assert notes.saved == ["péage & co"] * 3


def as_bytes(headers: Mapping[str, str | bytes]) -> dict[bytes, bytes]:
    return {n.encode(): v if isinstance(v, bytes) else v.encode() for n, v in headers.items()}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://[::1"},
        {"Origin": b"http://notes.example\xff"},
        {"Origin": b"\xe2\x84\x80"},
        {"Origin": "http://\N{ACCOUNT OF}x".encode()},
        {"Sec-Fetch-Site": b"\xff"},
        {"Origin": ORIGIN, "Host": "["},
        {"Origin": ORIGIN, "Host": b"\xff"},
        {"Origin": "http://notes.example:8080"},
        {"Origin": "https://notes.example"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {},
    ],
)
@pytest.mark.parametrize("path", ["/notes/save", "/notes/sign-out", "/notes/sign-in"])
async def test_cross_site_form_is_refused(notes: Visited, path: str, headers: dict[str, str | bytes]) -> None:
    fields = {"csrf": await session_csrf(notes), "text": "x", "token": notes.token()}
    answer = await notes.client.post(path, data=fields, headers=as_bytes(headers))
    assert answer.status_code == 403
    assert "not sent from a page of this service" in answer.text
    assert notes.saved == []


@pytest.mark.parametrize("given", [None, "", "0" * 64, "é"])
async def test_form_without_its_csrf_token_is_refused(notes: Visited, given: str | None) -> None:
    await notes.sign_in()
    fields = {"text": "x"} | ({} if given is None else {"csrf": given})
    answer = await notes.post("/notes/save", fields)
    assert answer.status_code == 403
    assert "out of date" in answer.text
    assert notes.saved == []


async def test_sign_in_needs_the_visitors_own_form(notes: Visited) -> None:
    stolen = csrf_in((await notes.client.get("/notes/sign-in")).text)
    notes.client.cookies.clear()
    fields = {"csrf": stolen, "token": notes.token()}
    assert (await notes.post("/notes/sign-in", fields)).status_code == 403
    await notes.client.get("/notes/sign-in")
    assert (await notes.post("/notes/sign-in", fields)).status_code == 403


async def test_forbidden_role_cannot_post(notes: Visited) -> None:
    answer = await notes.post("/notes/save", {"csrf": await session_csrf(notes, "consumer"), "text": "x"})
    assert (answer.status_code, notes.saved) == (403, [])


@pytest.mark.parametrize(
    ("content", "content_type", "status"),
    [
        (b"{}", "application/json", 400),
        (b"csrf=%ff", "application/x-www-form-urlencoded", 400),
        (b"\xff", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a=1" for _ in range(200)), "application/x-www-form-urlencoded", 400),
        (b"a=" + b"x" * 70_000, "application/x-www-form-urlencoded", 413),
    ],
)
async def test_malformed_form_is_refused(notes: Visited, content: bytes, content_type: str, status: int) -> None:
    await notes.sign_in()
    headers = {"Origin": ORIGIN, "Content-Type": content_type}
    assert (await notes.client.post("/notes/save", content=content, headers=headers)).status_code == status


@pytest.mark.parametrize(
    "name", ["Accept-Language", "Cookie", "X-Forwarded-Proto", "Content-Type", "HX-Request", "Referer", "Authorization"]
)
async def test_no_header_breaks_a_page(notes: Visited, name: str) -> None:
    for value in (b"\xff\xfe", b"[", b"a=\xff; b", b"http://["):
        for answer in (
            await notes.client.get("/notes/sign-in", headers={name.encode(): value}),
            await notes.client.post("/notes/sign-in", data={"a": "b"}, headers={name.encode(): value}),
        ):
            assert answer.status_code < 500, (name, value)
