import pytest

from tests.libs.runtime.pages.site import Visited

PATHS = ("/notes", "/notes/sign-in", "/notes/fails/bad", "/notes/fails/bug", "/notes/nowhere", "/notes/static/x/y.js")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("signed_in", [True, False])
async def test_every_page_has_the_security_headers(notes: Visited, path: str, signed_in: bool) -> None:
    if signed_in:
        await notes.sign_in()
    answer = await notes.client.get(path)
    policy = dict(each.strip().split(" ", 1) for each in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert not any(inline in answer.text for inline in ("<script>", " style=", " onclick="))


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/notes/fails/bad", 400, "from must be a day &lt;b&gt;such as&lt;/b&gt; 2025-01-31"),
        ("/notes/fails/missing", 404, "there is no such note"),
        ("/notes/nowhere", 404, "there is no such page"),
        ("/notes/fails/bad?count=many", 422, "query/count"),
        ("/notes/fails/often", 429, "too many at once"),
        ("/notes/fails/store", 503, "the store does not answer"),
        ("/notes/fails/bug", 500, "something went wrong here"),
    ],
)
async def test_error_page_shows_message_and_request_id(notes: Visited, path: str, status: int, text: str) -> None:
    await notes.sign_in()
    answer = await notes.client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert text in answer.text
    assert answer.headers["x-request-id"] in answer.text
    assert answer.headers.get("retry-after") == {429: "7", 503: "1"}.get(status)
    assert "secret" not in answer.text
    assert "<b>such" not in answer.text


async def test_query_text_is_escaped(notes: Visited) -> None:
    await notes.sign_in()
    page = await notes.client.get("/notes", params={"text": "<img src=x onerror=alert(1)>"})
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.text


async def test_static_files_are_immutable_under_their_digest(notes: Visited) -> None:
    await notes.client.get("/notes/sign-in")
    url = notes.site.assets.url("note.css")
    answer = await notes.client.get(url)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (await notes.client.get(url.replace("/static/", "/static/0"))).status_code == 404
    for path in ("../site.py", "..%2fsite.py", "vendor/../pages.css", "/etc/passwd"):
        assert (await notes.client.get(f"{url.rpartition('/')[0]}/{path}")).status_code in {303, 404}
    with pytest.raises(KeyError):
        notes.site.assets.url("gone.css")
