"""Where to go after signing in: only to a page of the same site."""

import re

from aex_runtime.pages.site import Site

_PLAIN = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]{0,2000}")
"""A path and its query. Nothing that ends a header, and no backslash, which browsers read as a slash."""


def safe_target(site: Site, wanted: str | None) -> str:
    """`wanted`, where it is a path below the site's prefix and neither signs in nor out; else the site's first page."""
    if wanted is None or _PLAIN.fullmatch(wanted) is None or "//" in wanted.partition("?")[0]:
        return site.prefix
    path = wanted.partition("?")[0]
    inside = path == site.prefix or path.startswith(f"{site.prefix}/")
    steps = set(path.split("/"))
    return wanted if inside and not steps & {".", ".."} and path not in _turnstiles(site) else site.prefix


def _turnstiles(site: Site) -> set[str]:
    return {site.sign_in_path, site.sign_out_path}
