"""Router of the operators' pages, and the page `/review/rules`."""

from dataclasses import dataclass

from fastapi import APIRouter, Depends, Request, Response

from aex_governance.deps import Deps
from aex_governance.review.figures import Figure, build_json_figure
from aex_governance.review.hold_page import add_hold_page
from aex_governance.review.queue_page import FIRST_PAGE_QUERY, add_queue_page
from aex_governance.review.words import SEVERITIES
from aex_governance.rules.table import RULES
from aex_models.audiences import Audience
from aex_runtime.pages.errors import page_router
from aex_runtime.pages.responses import render_page
from aex_runtime.pages.sessions import AllowSession
from aex_runtime.pages.sign_in import not_found_page_route, site_routes
from aex_runtime.pages.site import NavigationLink, Site, build_site
from aex_runtime.service import ServiceParts

PREFIX = "/review"
_OPERATORS = frozenset({Audience.OPERATOR})


@dataclass(frozen=True, slots=True)
class RuleView:
    """Fraud rule on the page of rules."""

    name: str
    description: str
    enabled: bool
    actions: tuple[tuple[str, str], ...]
    """Pairs of severity and action."""
    thresholds: tuple[tuple[str, Figure, str], ...]
    """Name, value and meaning of each threshold."""


def add_rules_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Add the page that lists each rule with its actions and thresholds, as `GET /v1/rules` returns them."""

    @router.get(f"{site.prefix}/rules", dependencies=[Depends(AllowSession(site))])
    async def get_rules(request: Request) -> Response:
        return render_page(site, request, "rules.html", rules=_views(deps))


def _views(deps: Deps) -> tuple[RuleView, ...]:
    return tuple(
        RuleView(
            name=rule.name,
            description=rule.description,
            enabled=deps.rules[rule.name].enabled,
            actions=tuple((each.value, rule.actions[each].value) for each in SEVERITIES if each in rule.actions),
            thresholds=tuple(
                (name, build_json_figure(value), rule.threshold_notes.get(name, ""))
                for name, value in deps.rules[rule.name].thresholds.items()
            ),
        )
        for rule in RULES
    )


def review_routes(parts: ServiceParts, deps: Deps) -> APIRouter:
    """Return a router with every page below `/review`."""
    site = build_review_site(parts)
    router = page_router()
    router.routes += site_routes(site, FIRST_PAGE_QUERY).routes
    add_queue_page(router, site, deps)
    add_hold_page(router, site, deps)
    add_rules_page(router, site, deps)
    router.routes += not_found_page_route(site).routes  # last: it matches any other path
    return router


def build_review_site(parts: ServiceParts) -> Site:
    """Return title, allowed roles and navigation of the pages."""
    return build_site(
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
