"""Posted forms: bounded, sent by our own pages (Origin), and by whoever was given the form (CSRF token)."""

import hmac
from collections.abc import Mapping
from contextlib import aclosing
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request

from aex_runtime.errors import Forbidden, InvalidRequest, TooLarge
from aex_runtime.http.upload import body_of
from aex_runtime.pages.guards import session_of
from aex_runtime.pages.sessions import csrf_token, is_https, visit_cookie
from aex_runtime.pages.site import Site

CSRF_FIELD = "csrf"
MAX_FORM_BYTES = 65_536
_MAX_FIELDS = 100
_FORM = "application/x-www-form-urlencoded"
SAFE_METHODS = frozenset({"GET", "HEAD"})


async def check_post(site: Site, request: Request) -> None:
    """Refuse what is not a form of ours, and keep its fields for `posted_form`.

    Raises `Forbidden` for a form from elsewhere or of another session, `InvalidRequest` or `TooLarge` for what is none.
    """
    _check_origin(request)
    form = _fields(request, await _bounded_body(request))
    expected = expected_csrf(site, request)
    given = form.pop(CSRF_FIELD, "")
    if expected is None or not hmac.compare_digest(expected.encode(), given.encode()):
        raise Forbidden("form_expired", "this form is out of date: go back, load the page anew and send it again")
    request.state.form = form


def posted_form(request: Request) -> Mapping[str, str]:
    """A dependency: the fields of the form that `check_post` has admitted."""
    form: Mapping[str, str] = request.state.form
    return form


def expected_csrf(site: Site, request: Request) -> str | None:
    """The CSRF token of this request's session, or of its visit; None where there is neither."""
    session = session_of(request)
    if session is not None:
        return csrf_token(site, "session", session.token)
    visit = request.cookies.get(visit_cookie(site))
    return csrf_token(site, "visit", visit) if visit else None


def _check_origin(request: Request) -> None:
    """Browsers say where a post comes from, in one of two headers at least."""
    origin, fetch_site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    ours = f"{'https' if is_https(request) else 'http'}://{request.headers.get('host', '')}"
    same = origin is None or _is_same(origin, ours)
    if not same or fetch_site not in {None, "same-origin"} or (origin is None and fetch_site is None):
        raise Forbidden("foreign_origin", "the form was not sent from a page of this service")


def _is_same(origin: str, ours: str) -> bool:
    try:
        return _normal(origin) == _normal(ours)
    except ValueError:  # one of them is no address, such as `http://[`
        return False


def _normal(origin: str) -> tuple[str, str]:
    parts = urlsplit(origin)
    port = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return parts.scheme, parts.netloc.lower().removesuffix(port)


async def _bounded_body(request: Request) -> bytes:
    content = bytearray()
    async with aclosing(body_of(request)) as pieces:
        async for piece in pieces:
            content += piece
            if len(content) > MAX_FORM_BYTES:
                raise TooLarge("form_too_large", f"a form has at most {MAX_FORM_BYTES} bytes")
    return bytes(content)


def _fields(request: Request, content: bytes) -> dict[str, str]:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise InvalidRequest("unsupported_media_type", f"a form is sent as {_FORM}")
    try:
        pairs = parse_qsl(content.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError as error:  # too many fields, or no UTF-8
        raise InvalidRequest("invalid_form", "the form cannot be read") from error
    return dict(pairs)
