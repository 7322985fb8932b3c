"""Composition of the work-publisher service. No other module chooses its storage and event backends."""

from functools import partial

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig
from aex_outcomes.lifecycle.registry import list_enabled_verifier_names
from aex_outcomes.submission import Appraisals, check_submission
from aex_runtime.http.app import build_app
from aex_runtime.service import Backends, assemble
from aex_runtime.settings import as_bad_configuration
from aex_work_publisher.api import routes
from aex_work_publisher.deps import Deps
from aex_work_publisher.measures import MEASURES
from aex_work_publisher.settings import Settings
from aex_work_publisher.subscriptions import subscriptions

SERVICE = "work-publisher"


def create_app(
    settings: Settings | None = None, backends: Backends | None = None, tracers: TracerProvider | None = None
) -> FastAPI:
    """Return the service's application; it sends its trace spans to `tracers`.

    `backends` are used where given. Otherwise the application opens those of the settings when it starts.
    Raises `BadConfiguration` for an invalid outcome configuration.
    """
    chosen = settings or Settings()
    parts = assemble(SERVICE, chosen, backends, tracers)
    with as_bad_configuration("AEX_OUTCOME_CONFIG", InvalidConfig):
        catalog = Catalog.from_config_file(chosen.outcome_config)  # as verification does: the same metrics
        verifiers = list_enabled_verifier_names(catalog.config)  # and the same verifiers, though none of their code
        catalog.check_domains()  # one that cannot be used stops the service, not the first work that names it
    checked = partial(
        check_submission,
        catalog=catalog,
        verifiers=verifiers,
        has_reviewer=bool(chosen.review_model),
        appraise=Appraisals(),
    )
    deps = Deps(
        unit_of_work=parts.unit_of_work,
        store=parts.backends.store,
        blobs=parts.backends.blobs,
        ids=parts.backends.ids,
        check=checked,
        fee_rate=chosen.fee_rate,
        bounds=parts.storage_bounds(),
    )
    return build_app(parts, routes(deps), subscriptions=subscriptions(deps), measures=MEASURES)
