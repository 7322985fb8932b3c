"""The governance service, composed: the only place where its backends are chosen."""

from functools import partial

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

from aex_governance.api import routes
from aex_governance.deps import Deps
from aex_governance.handlers.holds.queue import how_many_wait, oldest_waiting_s
from aex_governance.measures import MEASURES
from aex_governance.review import review_routes
from aex_governance.rules.config import BadRuleConfig, load_rules
from aex_governance.settings import Settings
from aex_governance.subscriptions import subscriptions
from aex_runtime.http.app import build_app
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.service import Backends, assemble
from aex_runtime.settings import blaming

SERVICE = "governance"


def create_app(
    settings: Settings | None = None, backends: Backends | None = None, tracers: TracerProvider | None = None
) -> FastAPI:
    """The application; `tracers` take its spans. Raises `BadConfiguration` for a rules file that cannot be used."""
    chosen = settings or Settings()
    parts = assemble(SERVICE, chosen, backends, tracers)
    with blaming("AEX_RULES_CONFIG", BadRuleConfig, OSError):
        rules = load_rules(chosen.rules_config)
    deps = Deps(parts.unit_of_work, parts.backends.store, parts.backends.clock, rules)
    router = routes(deps)
    router.routes += review_routes(parts, deps).routes
    return build_app(
        parts,
        router,
        subscriptions=subscriptions(deps),
        measures=MEASURES,
        gauges=[
            GaugeSpec(
                "aex_holds_waiting",
                "Holds that wait for an operator, 200 at most",
                partial(how_many_wait, deps),
            ),
            GaugeSpec(
                "aex_holds_oldest_seconds",
                "How long the first hold has waited for an operator",
                partial(oldest_waiting_s, deps),
            ),
        ],
    )
