"""Posted forms, which must be small and come from a page of this service and session.

The origin is checked by the `Origin` header, the session by a CSRF token.
"""

import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request

from aex_runtime.errors import Forbidden, InvalidRequest, TooLarge
from aex_runtime.http.upload import read_body
from aex_runtime.pages.sessions import csrf_token, current_session, is_https, visitor_cookie_name
from aex_runtime.pages.site import Site

CSRF_FIELD = "csrf"
MAX_FORM_BYTES = 65_536
_MAX_FIELDS = 100
_FORM = "application/x-www-form-urlencoded"
SAFE_METHODS = frozenset({"GET", "HEAD"})


async def check_posted_form(site: Site, request: Request) -> None:
    """Read and check a posted form; store its fields in the request for `read_form`.

    Raises `Forbidden` for a form of another site or session. Raises `InvalidRequest` or `TooLarge` for an invalid form.
    """
    _check_origin(request)
    too_large = TooLarge("form_too_large", f"a form has at most {MAX_FORM_BYTES} bytes")
    form = _fields(request, await read_body(request, MAX_FORM_BYTES, too_large))
    expected = expected_csrf_token(site, request)
    token = form.pop(CSRF_FIELD, "")
    if expected is None or not hmac.compare_digest(expected.encode(), token.encode()):
        raise Forbidden("form_expired", "this form is out of date: go back, reload the page and send it again")
    request.state.form = form


def read_form(request: Request) -> Mapping[str, str]:
    """Return the fields of the form that `check_posted_form` has checked; a dependency."""
    form: Mapping[str, str] = request.state.form
    return form


def expected_csrf_token(site: Site, request: Request) -> str | None:
    """Return the expected CSRF token: of the session, else of the visitor cookie; None with neither."""
    session = current_session(request)
    if session is not None:
        return csrf_token(site, "session", session.token)
    visitor = request.cookies.get(visitor_cookie_name(site))
    return csrf_token(site, "visit", visitor) if visitor else None


def _check_origin(request: Request) -> None:
    """Raise `Forbidden` unless the form comes from this origin. Browsers send at least one of two headers."""
    origin, fetch_site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    own_origin = f"{'https' if is_https(request) else 'http'}://{request.headers.get('host', '')}"
    try:
        is_same = origin is None or _normalize(origin) == _normalize(own_origin)
    except ValueError:  # an invalid address, such as `http://[`
        is_same = False
    if not is_same or fetch_site not in {None, "same-origin"} or (origin is None and fetch_site is None):
        raise Forbidden("foreign_origin", "the form was not sent from a page of this service")


def _normalize(origin: str) -> tuple[str, str]:
    parts = urlsplit(origin)
    port = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return parts.scheme, parts.netloc.lower().removesuffix(port)


def _fields(request: Request, content: bytes) -> dict[str, str]:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise InvalidRequest("unsupported_media_type", f"a form is sent as {_FORM}")
    try:
        pairs = parse_qsl(content.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError as error:  # too many fields, or no UTF-8
        raise InvalidRequest("invalid_form", "the form cannot be read") from error
    return dict(pairs)
