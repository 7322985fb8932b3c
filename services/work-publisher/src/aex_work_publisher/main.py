"""The work-publisher service, composed: the only place where its backends are chosen."""

from functools import partial
from pathlib import Path

from fastapi import FastAPI

from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig
from aex_outcomes.submission import check_submission
from aex_runtime.http.app import build_app
from aex_runtime.service import Backends, assemble
from aex_runtime.settings import BadConfiguration
from aex_work_publisher.api import routes
from aex_work_publisher.deps import Deps
from aex_work_publisher.settings import Settings
from aex_work_publisher.subscriptions import subscriptions

SERVICE = "work-publisher"


def create_app(settings: Settings | None = None, backends: Backends | None = None) -> FastAPI:
    """The application. Nothing is opened before it starts, unless `backends` are given."""
    chosen = settings or Settings()
    parts = assemble(SERVICE, chosen, backends)
    deps = Deps(
        unit_of_work=parts.unit_of_work,
        store=parts.backends.store,
        blobs=parts.backends.blobs,
        ids=parts.backends.ids,
        check=partial(check_submission, catalog=_catalog(chosen.outcome_config)),
        fee_rate=chosen.fee_rate,
    )
    return build_app(parts, routes(deps), subscriptions=subscriptions(deps))


def _catalog(config: Path | None) -> Catalog:
    """The same catalogue as verification's. Raises `BadConfiguration`, naming the file and the bad key."""
    try:
        return Catalog.load(config)
    except InvalidConfig as error:
        raise BadConfiguration(f"AEX_OUTCOME_CONFIG: {error}") from error
