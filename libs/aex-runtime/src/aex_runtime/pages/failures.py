"""Errors as pages: what went wrong, what to do, and the request id that finds it in the log."""

from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from aex_models.work import Problem
from aex_runtime.errors import DomainError, Unauthenticated
from aex_runtime.http.problems import DOMAIN_STATUS, VENDOR_ERRORS
from aex_runtime.http.validation import validation_problem
from aex_runtime.pages.answers import render_page, see
from aex_runtime.pages.forms import SAFE_METHODS
from aex_runtime.pages.sessions import end_session, session_cookie
from aex_runtime.pages.site import Site
from aex_runtime.pages.targets import MAX_TARGET_CHARS, with_query

_ADVICE = {
    400: "Correct that and try again.",
    403: "Sign in with a token of a role that may, or go back.",
    404: "It is not there, or it is not yours to see. Check the address.",
    413: "Send less at once.",
    422: "Correct that and try again.",
    429: "Wait a moment, then try again.",
    503: "A part of the service does not answer at present. Wait a moment, then load the page again.",
}
_INTERNAL = "something went wrong here; the request id helps to find it"


def known_failure(error: Exception) -> DomainError | None:
    """The domain error that an exception stands for; None for what nobody expected."""
    if isinstance(error, DomainError):
        return error
    if isinstance(error, RequestValidationError):
        return validation_problem(error)
    return next((VENDOR_ERRORS[kind] for kind in type(error).__mro__ if kind in VENDOR_ERRORS), None)


def failure_page(site: Site, request: Request, error: DomainError) -> Response:
    """The page of a domain error; whoever has not signed in, or no longer, is sent to do so."""
    if isinstance(error, Unauthenticated):
        return _to_sign_in(site, request)
    status = next(DOMAIN_STATUS[kind] for kind in type(error).__mro__ if kind in DOMAIN_STATUS)
    response = _page(site, request, status, error.message, error.errors)
    retry_after_s = getattr(error, "retry_after_s", None)
    if retry_after_s is not None:
        response.headers["Retry-After"] = str(retry_after_s)
    return response


def internal_failure_page(site: Site, request: Request) -> Response:
    """The page of what nobody expected; what it was stands in the log alone."""
    return _page(site, request, 500, _INTERNAL, ())


def _page(site: Site, request: Request, status: int, message: str, problems: Sequence[Problem]) -> Response:
    return render_page(
        site,
        request,
        "failure.html",
        status=status,
        heading=HTTPStatus(status).phrase,
        message=message,
        advice=_ADVICE.get(status, ""),
        problems=problems,
        code=status,
        request_id=getattr(request.state, "request_id", ""),
    )


def _to_sign_in(site: Site, request: Request) -> Response:
    query: dict[str, str] = {}
    if request.method in SAFE_METHODS:
        target = with_query(quote(request.scope["path"], safe="/:@+"), request)
        if len(target) <= MAX_TARGET_CHARS:
            query["next"] = target
    had_session = session_cookie(site) in request.cookies
    if _from_elsewhere(request) and not had_session:
        return render_page(site, request, "again.html", target=query.get("next", site.prefix))
    if had_session:
        query["ended"] = "1"
    target = f"{site.sign_in_path}?{urlencode(query)}" if query else site.sign_in_path
    if "hx-request" in request.headers:  # a script follows redirects without telling: it would put the form in a corner
        response = Response(status_code=401, headers={"HX-Redirect": target})
    else:
        response = see(target)
    if had_session:
        end_session(site, request, response)
    return response


def _from_elsewhere(request: Request) -> bool:
    """Whether a link on another site led here: then the browser keeps a strict cookie back, signed in or not.

    Asked again by a page of ours, it sends the cookie.
    """
    return request.method in SAFE_METHODS and request.headers.get("sec-fetch-site") == "cross-site"
