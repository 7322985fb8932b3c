"""Settings of the settlement service."""

from aex_runtime.settings import RuntimeSettings


class Settings(RuntimeSettings):
    """What every service has. The fee rate that counts is the one in a contract's own terms."""
