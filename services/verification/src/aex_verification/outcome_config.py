"""The outcome configuration as this service takes it: a catalogue, and the verifiers that it registers."""

from collections.abc import Iterator

from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig, OutcomeConfig, VerificationConfig
from aex_outcomes.lifecycle import registry
from aex_runtime.settings import blaming
from aex_verification.settings import Settings


def load_catalog(chosen: Settings) -> Catalog:
    """The catalogue of the configured file. Raises `BadConfiguration`, naming the file, the place in it and the fix."""
    with blaming("AEX_OUTCOME_CONFIG", InvalidConfig):
        catalog = Catalog.load(chosen.outcome_config)
        if problems := list(_switched_off(catalog.config.verification, chosen)):
            raise InvalidConfig([(f"{chosen.outcome_config}: verification.{name}", why) for name, why in problems])
        catalog.check_domains()
    return catalog


def load_verifiers(chosen: Settings, config: OutcomeConfig) -> registry.Verifiers:
    """The verifiers, loaded and checked. Raises `BadConfiguration`, naming each that cannot be served, and why."""
    with blaming("AEX_OUTCOME_CONFIG", InvalidConfig):
        try:
            return registry.Verifiers.load(config)
        except InvalidConfig as error:
            if chosen.outcome_config is None:  # an installed package's own
                raise
            named = [(f"{chosen.outcome_config}: {place}", problem) for place, problem in error.problems]
            raise InvalidConfig(named) from None


def _switched_off(config: VerificationConfig, chosen: Settings) -> Iterator[tuple[str, str]]:
    """The switches that are off and may not be, each with why and what to do."""
    if not config.store_outcomes:
        yield (
            "store_outcomes",
            "false is for verdicts without a contract, which `aex verify` and POST /v1/verify give and never store; "
            "contracts are paid by their stored outcomes: remove the line",
        )
    cloud = chosen.cloud_backends()
    if not config.governance_check and cloud:
        yield (
            "governance_check",
            "false is for the embedded backends alone: where others rely on outcomes, none is final unchecked; "
            f"remove the line, or unset {', '.join(cloud)}",
        )
