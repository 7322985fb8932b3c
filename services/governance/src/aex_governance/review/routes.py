"""The operators' pages, and who may see them."""

from fastapi import APIRouter

from aex_governance.deps import Deps
from aex_governance.review.hold_page import hold_page
from aex_governance.review.queue_page import queue_page
from aex_governance.review.rules_page import rules_page
from aex_models.audiences import Audience
from aex_runtime.pages.routing import page_router
from aex_runtime.pages.sign_in import missing_page_route, site_routes
from aex_runtime.pages.site import NavigationLink, Site, site_for
from aex_runtime.service import ServiceParts

PREFIX = "/review"
_OPERATORS = frozenset({Audience.OPERATOR})


def review_routes(parts: ServiceParts, deps: Deps) -> APIRouter:
    """Every page below `/review`."""
    site = review_site(parts)
    router = page_router()
    router.routes += site_routes(site).routes
    queue_page(router, site, deps)
    hold_page(router, site, deps)
    rules_page(router, site, deps)
    router.routes += missing_page_route(site).routes  # last: it takes whatever is left
    return router


def review_site(parts: ServiceParts) -> Site:
    """What the pages share."""
    return site_for(
        parts,
        title="Review",
        prefix=PREFIX,
        package="aex_governance.review",
        roles=tuple(_OPERATORS),
        navigation=(
            NavigationLink("Held outcomes", PREFIX, _OPERATORS),
            NavigationLink("Rules", f"{PREFIX}/rules", _OPERATORS),
        ),
    )
