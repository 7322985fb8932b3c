"""Composition of the governance service. No other module chooses its storage and event backends."""

from functools import partial

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

from aex_governance.api import routes
from aex_governance.deps import Deps
from aex_governance.handlers.read_holds import count_waiting_holds_up_to_max, read_longest_wait_s
from aex_governance.measures import MEASURES
from aex_governance.review import review_routes
from aex_governance.rules.config import BadRuleConfig, load_rule_configs
from aex_governance.settings import Settings
from aex_governance.subscriptions import subscriptions
from aex_runtime.http.app import build_app
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.service import Backends, assemble
from aex_runtime.settings import as_bad_configuration

SERVICE = "governance"


def create_app(
    settings: Settings | None = None, backends: Backends | None = None, tracers: TracerProvider | None = None
) -> FastAPI:
    """Return the service's application; it sends its trace spans to `tracers`.

    `backends` are used where given. Otherwise the application opens those of the settings when it starts. Raises
    `BadConfiguration` when the operator's file of rules is invalid.
    """
    chosen = settings or Settings()
    parts = assemble(SERVICE, chosen, backends, tracers)
    with as_bad_configuration("AEX_RULES_CONFIG", BadRuleConfig, OSError):
        rules = load_rule_configs(chosen.rules_config)
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
                partial(count_waiting_holds_up_to_max, deps),
            ),
            GaugeSpec(
                "aex_holds_oldest_seconds",
                "Waiting time of the oldest hold",
                partial(read_longest_wait_s, deps),
            ),
        ],
    )
