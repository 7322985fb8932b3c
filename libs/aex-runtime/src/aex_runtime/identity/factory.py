"""Whom a service trusts and what it calls others with, as the settings choose."""

from aex_models.audiences import Audience
from aex_runtime.clock import Clock
from aex_runtime.identity.issuers import EVERY_ROLE, Issuer, configured_issuers, google_issuer, local_issuer_of
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import LocalKey
from aex_runtime.identity.local_service_tokens import LocalServiceTokens
from aex_runtime.identity.service_tokens import ServiceTokens
from aex_runtime.ids import Ids
from aex_runtime.settings import RuntimeSettings


def trusted_issuers(settings: RuntimeSettings, key: LocalKey, clock: Clock) -> list[Issuer]:
    """The local issuer and those of `AEX_ISSUERS`; and Google, where the services' tokens are its own.

    Then the local issuer grants every role but `service`: whoever has stolen the platform's key is still no service.
    """
    others = configured_issuers(settings.issuers, clock)
    if settings.service_tokens == "local":
        return [local_issuer_of(key), *others]
    google = google_issuer(settings.service_accounts, settings.google_jwks, clock)
    return [local_issuer_of(key, EVERY_ROLE - {Audience.SERVICE}), google, *others]


def open_service_tokens(
    settings: RuntimeSettings, service: str, issuer: LocalIssuer, clock: Clock, ids: Ids
) -> ServiceTokens:
    """What the service calls others with. Nothing is fetched before the first call."""
    if settings.service_tokens == "local":
        return LocalServiceTokens(issuer, service, clock)
    from aex_runtime.identity.google_metadata import MetadataServer  # noqa: PLC0415 httpx: few need it at their start
    from aex_runtime.identity.google_service_tokens import GoogleServiceTokens  # noqa: PLC0415

    server = MetadataServer(settings.metadata_host, ids)
    return GoogleServiceTokens(settings.service_accounts[service], server.id_token, clock)
