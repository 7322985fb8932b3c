"""`/review/rules`: every rule, what it does and when, as `GET /v1/rules` tells it."""

from dataclasses import dataclass

from fastapi import APIRouter, Depends, Request, Response

from aex_governance.deps import Deps
from aex_governance.review.figures import Figure, figure
from aex_governance.review.words import SEVERITIES
from aex_governance.rules.table import RULES
from aex_runtime.pages.answers import render_page
from aex_runtime.pages.guards import AllowSession
from aex_runtime.pages.site import Site


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule as the page shows it. `actions`: severity and action; `thresholds`: name, figure, what it means."""

    name: str
    description: str
    enabled: bool
    actions: tuple[tuple[str, str], ...]
    thresholds: tuple[tuple[str, Figure, str], ...]


def rules_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Declare the page."""

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
                (name, figure(value), rule.threshold_notes.get(name, ""))
                for name, value in deps.rules[rule.name].thresholds.items()
            ),
        )
        for rule in RULES
    )
