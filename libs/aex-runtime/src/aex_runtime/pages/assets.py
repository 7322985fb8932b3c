"""Static files under the hash of their content: whoever has one never asks for it again."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources import files

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}
_DIGEST_CHARS = 16


@dataclass(frozen=True, slots=True)
class Asset:
    """A file's content, as it is sent."""

    name: str
    digest: str
    content: bytes
    media_type: str


class Assets:
    """The files in `static/` of some packages, by name; of two with one name the later package's. Read once."""

    def __init__(self, prefix: str, packages: tuple[str, ...]) -> None:
        self._prefix = prefix
        self._packages = packages

    @cached_property
    def _known(self) -> dict[str, Asset]:
        return {asset.name: asset for package in self._packages for asset in _assets_of(package)}

    def url(self, name: str) -> str:
        """Where a file is. Raises `KeyError` for one that is not there: a template's mistake."""
        return f"{self._prefix}/{self._known[name].digest}/{name}"

    def find(self, digest: str, name: str) -> Asset | None:
        """The file with this name and content; None also where its content is another by now."""
        asset = self._known.get(name)
        return asset if asset is not None and asset.digest == digest else None


def _assets_of(package: str) -> list[Asset]:
    folder = files(package) / "static"
    nested = [(f"{each.name}/", each) for each in folder.iterdir() if each.is_dir()]
    return [
        Asset(
            name=f"{place}{file.name}",
            digest=sha256(content).hexdigest()[:_DIGEST_CHARS],
            content=content,
            media_type=_MEDIA_TYPES[file.name[file.name.rindex(".") :]],
        )
        for place, each in [("", folder), *nested]
        for file in each.iterdir()
        if file.is_file()
        for content in [file.read_bytes()]
    ]
