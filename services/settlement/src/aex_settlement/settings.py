"""Settings of the settlement service."""

from aex_runtime.settings import RuntimeSettings


class Settings(RuntimeSettings):
    """Settings of every service; settlement has none of its own. Fee rates come from the contracts' terms."""
