"""The pages of one service: where they are, who may sign in, and what they are made with."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from aex_models.audiences import Audience
from aex_runtime.clock import Clock
from aex_runtime.identity.verifier import TokenVerifier
from aex_runtime.ids import Ids
from aex_runtime.pages.assets import Assets
from aex_runtime.pages.rendering import Templates
from aex_runtime.service import ServiceParts


@dataclass(frozen=True, slots=True)
class NavigationLink:
    """An entry of the navigation. `path` may name the reader: `/dashboard/accounts/{role}:{id}`."""

    text: str
    path: str
    roles: frozenset[Audience]


@dataclass(frozen=True, slots=True)
class Site:
    """What every page of a service shares. One for each service; `prefix` is the path that all its pages are below."""

    service: str
    title: str
    prefix: str
    roles: frozenset[Audience]
    """Who may sign in."""
    navigation: tuple[NavigationLink, ...]
    verifier: TokenVerifier
    clock: Clock
    ids: Ids
    assets: Assets
    templates: Templates
    key: bytes = field(repr=False)
    """What CSRF tokens are made with."""

    @property
    def sign_in_path(self) -> str:
        """Where one signs in."""
        return f"{self.prefix}/sign-in"

    @property
    def sign_out_path(self) -> str:
        """Where one signs out."""
        return f"{self.prefix}/sign-out"


def site_for(
    parts: ServiceParts,
    *,
    title: str,
    prefix: str,
    package: str,
    roles: Sequence[Audience],
    navigation: Sequence[NavigationLink] = (),
) -> Site:
    """The site of a service. `package` holds `templates/` and `static/` of its own, beside the kit's.

    Nothing is read before the first page is asked for.
    """
    assets = Assets(f"{prefix}/static", ("aex_runtime.pages", package))
    return Site(
        service=parts.name,
        title=title,
        prefix=prefix,
        roles=frozenset(roles),
        navigation=tuple(navigation),
        verifier=parts.verifier,
        clock=parts.backends.clock,
        ids=parts.backends.ids,
        assets=assets,
        templates=Templates((package, "aex_runtime.pages"), assets),
        key=hmac.digest(parts.cursor_key, b"forms of pages", sha256),
    )
