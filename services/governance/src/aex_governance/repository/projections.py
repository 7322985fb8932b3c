"""The projections, in generations: each is made from the whole log, one is read, and another may be in the making."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from aex_governance.rules.projection.documents import (
    BandEntry,
    DomainShard,
    HashEntry,
    PaceShard,
    ProfileShard,
    Projected,
)
from aex_models.frozen import Frozen
from aex_runtime.store.port import Collection, Index, Store
from aex_runtime.store.table import M, Reader, Stored, Table

HEAD_KEY = "head"
BY_KEY = (Index(),)
"""Read in the order of their keys: every store keeps them so, at no cost."""
PAGE = 100


class ProjectionHead(Frozen):
    """Which generation is read, and which one, if any, is being made. Whoever writes to the log writes to both."""

    reading: int = 1
    building: int | None = None

    @property
    def generations(self) -> tuple[int, ...]:
        """Those that are written."""
        return (self.reading,) if self.building is None else (self.reading, self.building)


HEAD = Table(Collection("governance-projection"), ProjectionHead)
PROFILES = Table(Collection("governance-profiles", BY_KEY), ProfileShard)
DOMAINS = Table(Collection("governance-domains", BY_KEY), DomainShard)
PACES = Table(Collection("governance-paces", BY_KEY), PaceShard)
HASHES = Table(Collection("governance-hashes", BY_KEY), HashEntry)
BANDS = Table(Collection("governance-bands", BY_KEY), BandEntry)
TABLES: Mapping[type[Projected], Table[Any]] = {
    ProfileShard: PROFILES,
    DomainShard: DOMAINS,
    PaceShard: PACES,
    HashEntry: HASHES,
    BandEntry: BANDS,
}
"""Where each kind of projected document is kept. A generation's keys begin with its number."""


def generation_prefix(generation: int) -> str:
    """What the keys of a generation begin with."""
    return f"{generation}-"


def projected_key(generation: int, place: str) -> str:
    """The key of a projected document."""
    return f"{generation_prefix(generation)}{place}"


async def read_head(reader: Reader) -> ProjectionHead:
    """The head as it is, or as it is before anybody has written one."""
    found = await HEAD.get(reader, HEAD_KEY)
    return found.record if found else ProjectionHead()


async def documents_under(store: Store, table: Table[M], prefix: str) -> AsyncGenerator[list[Stored[M]], None]:
    """All documents whose keys begin with the prefix, by key, a page at a time."""
    after = prefix
    while True:
        page = await table.find(store, after=(None, after), limit=PAGE)
        found = [each for each in page if each.document.key.startswith(prefix)]
        if found:
            yield found
        if len(found) < PAGE:
            return
        after = found[-1].document.key
