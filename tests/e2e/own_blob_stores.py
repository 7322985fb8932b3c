"""Backends with the blob stores of the Terraform deployment.

Work-publisher and verification share one, governance and settlement have their own; all share the one of events.
"""

from opentelemetry.trace import TracerProvider

from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings

_STORES = {"work-publisher": "content", "verification": "content"}


def open_with_own_blobs(settings: RuntimeSettings, service: str) -> tuple[Backends, TracerProvider | None]:
    """Return the service's backends and no tracers."""
    urls = {"blobs_url": _STORES.get(service, service), "event_data_url": "events"}
    own = {name: f"file:///{settings.data_dir}/blobs-{folder}" for name, folder in urls.items()}
    return open_backends(settings.model_copy(update=own), service), None
