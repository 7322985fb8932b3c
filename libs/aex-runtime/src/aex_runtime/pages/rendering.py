"""Templates to HTML: everything escaped, an undefined name an error. Jinja2 is imported with the first page."""

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from aex_runtime.pages.assets import Assets

if TYPE_CHECKING:
    from jinja2 import Environment


class Templates:
    """The templates of some packages; of two with one name the earlier package's."""

    def __init__(self, packages: tuple[str, ...], assets: Assets) -> None:
        self._packages = packages
        self._assets = assets
        self._ready = False

    async def prepare(self) -> None:
        """Make what the first page needs, in a thread: imports and files would hold up everybody else."""
        if not self._ready:
            await asyncio.to_thread(self._load)
            self._ready = True

    def render(self, name: str, **values: object) -> str:
        """A template's HTML."""
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
