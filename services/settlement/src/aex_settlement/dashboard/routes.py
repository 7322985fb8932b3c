"""The dashboard's pages, and who may see them."""

from fastapi import APIRouter

from aex_models.audiences import Audience
from aex_runtime.pages.routing import page_router
from aex_runtime.pages.sign_in import missing_page_route, site_routes
from aex_runtime.pages.site import NavigationLink, Site, site_for
from aex_runtime.service import ServiceParts
from aex_settlement.dashboard.account_pages import account_pages
from aex_settlement.dashboard.export_page import export_page
from aex_settlement.dashboard.overview_page import overview_page
from aex_settlement.dashboard.settlement_pages import settlement_pages
from aex_settlement.deps import Deps
from aex_settlement.rules.visibility import READERS

PREFIX = "/dashboard"
_PARTIES = frozenset({Audience.CONSUMER, Audience.AGENT})


def dashboard_routes(parts: ServiceParts, deps: Deps) -> APIRouter:
    """Every page below `/dashboard`."""
    site = dashboard_site(parts)
    router = page_router()
    router.routes += site_routes(site).routes
    overview_page(router, site, deps)
    export_page(router, site, deps)
    settlement_pages(router, site, deps)
    account_pages(router, site, deps)
    router.routes += missing_page_route(site).routes  # last: it takes whatever is left
    return router


def dashboard_site(parts: ServiceParts) -> Site:
    """What the pages share."""
    return site_for(
        parts,
        title="Settlement",
        prefix=PREFIX,
        package="aex_settlement.dashboard",
        roles=READERS,
        navigation=(
            NavigationLink("Overview", PREFIX, frozenset(READERS)),
            NavigationLink("Settlements", f"{PREFIX}/settlements", frozenset(READERS)),
            NavigationLink("Accounts", f"{PREFIX}/accounts", frozenset({Audience.FINANCE})),
            NavigationLink("Account", f"{PREFIX}/accounts/{{role}}:{{id}}", _PARTIES),
        ),
    )
