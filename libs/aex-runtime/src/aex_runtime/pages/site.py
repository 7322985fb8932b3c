"""The site of a service: the paths, roles, static files and templates of its pages."""

import asyncio
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from aex_models.audiences import Audience
from aex_runtime.clock import Clock
from aex_runtime.identity.verifier import TokenVerifier
from aex_runtime.ids import Ids
from aex_runtime.service import ServiceParts

if TYPE_CHECKING:
    from jinja2 import Environment


_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}


class Asset(NamedTuple):
    """A static file, with its content and digest."""

    name: str
    digest: str
    content: bytes
    media_type: str


class Assets:
    """The files in `static/` of some packages, read once. Of equal names the last package's file counts.

    A URL contains the digest of the content, so that browsers can cache the file permanently.
    """

    def __init__(self, prefix: str, packages: tuple[str, ...]) -> None:
        self._prefix, self._packages = prefix, packages

    @cached_property
    def _files(self) -> dict[str, Asset]:
        return {asset.name: asset for package in self._packages for asset in _read_assets(package)}

    def url(self, name: str) -> str:
        """Return the URL of a file. Raises `KeyError` for an unknown name, which is an error in a template."""
        return f"{self._prefix}/{self._files[name].digest}/{name}"

    def find(self, digest: str, name: str) -> Asset | None:
        """Return the file with this name and digest, or None."""
        asset = self._files.get(name)
        return asset if asset is not None and asset.digest == digest else None


def _read_assets(package: str) -> list[Asset]:
    folder = files(package) / "static"
    nested = [(f"{each.name}/", each) for each in folder.iterdir() if each.is_dir()]
    return [
        Asset(
            f"{prefix}{file.name}", sha256(content).hexdigest()[:16], content, _MEDIA_TYPES[PurePath(file.name).suffix]
        )
        for prefix, each in [("", folder), *nested]
        for file in each.iterdir()
        if file.is_file()
        for content in [file.read_bytes()]
    ]


class Templates:
    """The Jinja2 templates of some packages. Of equal names the first package's template counts."""

    def __init__(self, packages: tuple[str, ...], assets: Assets) -> None:
        self._packages, self._assets = packages, assets
        self._ready = False

    async def load_all_if_needed(self) -> None:
        """Load all templates in a thread, if they are not loaded yet, so that other requests go on."""
        if not self._ready:
            await asyncio.to_thread(self._load)
            self._ready = True

    def render(self, name: str, **values: object) -> str:
        return self._environment.get_template(name).render(values)

    def _load(self) -> None:
        for name in self._environment.list_templates():
            self._environment.get_template(name)

    @cached_property
    def _environment(self) -> "Environment":
        import babel.numbers  # noqa: F401, PLC0415 the pages' formats
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

        environment = Environment(
            loader=ChoiceLoader([PackageLoader(package) for package in self._packages]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.globals["asset"] = self._assets.url
        return environment


@dataclass(frozen=True, slots=True)
class NavigationLink:
    """An entry of the navigation, shown to some roles.

    `path` may name the reader: `/dashboard/accounts/{role}:{id}`.
    """

    text: str
    path: str
    roles: frozenset[Audience]


@dataclass(frozen=True, slots=True)
class Site:
    """Properties that all pages of a service share. The path of each page begins with `prefix`."""

    service: str
    title: str
    prefix: str
    roles: frozenset[Audience]
    """Roles that may sign in."""
    navigation: tuple[NavigationLink, ...]
    verifier: TokenVerifier
    clock: Clock
    ids: Ids
    assets: Assets
    templates: Templates
    key: bytes = field(repr=False)
    """Key with which CSRF tokens are made."""

    @property
    def sign_in_path(self) -> str:
        return f"{self.prefix}/sign-in"

    @property
    def sign_out_path(self) -> str:
        return f"{self.prefix}/sign-out"


def build_site(
    parts: ServiceParts,
    *,
    title: str,
    prefix: str,
    package: str,
    roles: Sequence[Audience],
    navigation: Sequence[NavigationLink] = (),
) -> Site:
    """Build the site of a service. Files are read when the first page is requested.

    The service's `package` has its own `templates/` and `static/`.
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
