"""An agent's record: what its shards sum up to, and a page of its domains by name."""

from bisect import insort
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from aex_governance.deps import Deps
from aex_governance.repository.projections import PROFILES, documents_under, projected_key, read_head
from aex_governance.rules.profiles import agent_profile, domain_profile
from aex_governance.rules.projection.documents import Tally
from aex_governance.rules.projection.merging import summed
from aex_governance.rules.projection.places import agent_places
from aex_models.audiences import Audience
from aex_models.governance import AgentProfile
from aex_runtime.errors import NotFound
from aex_runtime.identity.principal import Principal
from aex_runtime.store.port import Store, StoreUnavailable

_TRIES = 3


@dataclass(frozen=True, slots=True)
class ProfilePage:
    """A profile whose totals are of all domains; `after` is the last one shown where more follow."""

    profile: AgentProfile
    after: str | None
    is_whole: bool = True
    """False where there are more domains than were to be read: then the totals are of some of them."""


@dataclass(slots=True)
class _Sum:
    """The totals, and no more domains than are shown: memory does not grow with how many there are."""

    after: str
    limit: int
    most: int | None = None
    read: int = 0
    total: Tally = field(default_factory=Tally)
    first: list[tuple[str, Tally]] = field(default_factory=list)
    """The first domains by name after `after`, one more than are shown."""

    @property
    def is_enough(self) -> bool:
        """Whether no more domains are to be read."""
        return self.most is not None and self.read > self.most

    def add(self, domain: str, tally: Tally) -> None:
        self.read += 1
        if self.is_enough:
            return
        self.total = summed((self.total, tally.model_copy(update={"histograms": {}})))
        if domain > self.after and (len(self.first) <= self.limit or domain < self.first[-1][0]):
            insort(self.first, (domain, tally), key=lambda each: each[0])
            del self.first[self.limit + 1 :]


async def read_profile(
    deps: Deps, reader: Principal, agent_id: str, after: str | None, limit: int, most: int | None = None
) -> ProfilePage:
    """The record of an agent; all zero where there is none yet. `most`: domains that are read at all.

    Raises `NotFound` where the reader is another agent, whether or not there is one of that name.
    """
    if reader.role is Audience.AGENT and reader.id != agent_id:
        raise NotFound("agent_not_found", "no such agent")
    found = await _consistent(deps.store, agent_id, _Sum(after or "", limit, most))
    shown = found.first[:limit]
    domains = tuple(domain_profile(domain, tally) for domain, tally in shown)
    profile = agent_profile(agent_id, found.total, domains)
    return ProfilePage(profile, shown[-1][0] if len(found.first) > limit else None, not found.is_enough)


async def _consistent(store: Store, agent_id: str, wanted: _Sum) -> _Sum:
    """The sum over one generation: read anew where another took its place meanwhile."""
    for _ in range(_TRIES):
        generation = (await read_head(store)).reading
        found = _Sum(wanted.after, wanted.limit, wanted.most)
        async with aclosing(_domains(store, generation, agent_id)) as domains:
            async for domain, tally in domains:
                found.add(domain, tally)
                if found.is_enough:
                    break
        if (await read_head(store)).reading == generation:
            return found
    raise StoreUnavailable(f"profiles were rebuilt {_TRIES} times while one was read")


async def _domains(store: Store, generation: int, agent_id: str) -> AsyncGenerator[tuple[str, Tally], None]:
    """Each of the agent's domains once; its shards lie side by side."""
    domain: str | None = None
    tally = Tally()
    prefix = projected_key(generation, agent_places(agent_id))
    async with aclosing(documents_under(store, PROFILES, prefix)) as pages:
        async for page in pages:
            for shard in (stored.record for stored in page):
                if domain is not None and shard.domain != domain:
                    yield domain, tally
                    tally = Tally()
                domain = shard.domain
                tally = summed((tally, shard.tally))
    if domain is not None:
        yield domain, tally
