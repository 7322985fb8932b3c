"""Where to go after signing in: only to a page of the same site."""

import re
from urllib.parse import unquote

from fastapi import Request

from aex_runtime.pages.site import Site

MAX_TARGET_CHARS = 2_000
_PLAIN = re.compile(rf"/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]{{0,{MAX_TARGET_CHARS - 1}}}")
"""A path and its query. Nothing that ends a header, and no backslash, which browsers read as a slash."""


def with_query(path: str, request: Request) -> str:
    """The path with the request's query, as it came: it may hold bytes that are no text."""
    query = request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def safe_target(site: Site, wanted: str | None) -> str:
    """`wanted`, where it is a path below the site's prefix and neither signs in nor out; else the site's first page."""
    if wanted is None or _PLAIN.fullmatch(wanted) is None:
        return site.prefix
    path = unquote(wanted.partition("?")[0])  # browsers take `%2e%2e` for two dots
    inside = path == site.prefix or path.startswith(f"{site.prefix}/")
    steps = set(path.split("/"))
    plain = "//" not in path and not steps & {".", ".."}
    return wanted if inside and plain and path not in _turnstiles(site) else site.prefix


def _turnstiles(site: Site) -> set[str]:
    return {site.sign_in_path, site.sign_out_path}
