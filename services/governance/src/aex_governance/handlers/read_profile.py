"""Agent profiles: the sum of an agent's shards, and a page of its domains by name."""

from bisect import insort
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from aex_governance.deps import Deps
from aex_governance.repository import PROFILES, documents_under, projected_key, read_head
from aex_governance.rules.histogram import agent_profile, domain_profile
from aex_governance.rules.projection_documents import ProfileTally, agent_key_prefix
from aex_governance.rules.projection_merging import sum_tallies
from aex_models.audiences import Audience
from aex_models.governance import AgentProfile
from aex_runtime.errors import NotFound
from aex_runtime.identity.principals import Principal
from aex_runtime.store.port import Store, StoreUnavailable

_TRIES = 3


@dataclass(frozen=True, slots=True)
class ProfilePage:
    """A profile with the totals of all domains; `after` is the last domain of the page if more follow."""

    profile: AgentProfile
    after: str | None
    is_complete: bool = True
    """False if the agent has more domains than `domain_limit`; then the totals are of some of them."""


@dataclass(slots=True)
class _ProfileSum:
    """Totals of all domains, and the domains of one page: memory does not grow with their number."""

    after: str
    limit: int
    domain_limit: int | None = None
    read: int = 0
    total: ProfileTally = field(default_factory=ProfileTally)
    first: list[tuple[str, ProfileTally]] = field(default_factory=list)
    """The first domains by name after `after`, at most one more than the page has."""

    @property
    def is_at_limit(self) -> bool:
        return self.domain_limit is not None and self.read > self.domain_limit

    def add(self, domain: str, tally: ProfileTally) -> None:
        self.read += 1
        if self.is_at_limit:
            return
        self.total = sum_tallies((self.total, tally.model_copy(update={"histograms": {}})))
        if domain > self.after and (len(self.first) <= self.limit or domain < self.first[-1][0]):
            insort(self.first, (domain, tally), key=lambda each: each[0])
            del self.first[self.limit + 1 :]


async def read_profile(
    deps: Deps, reader: Principal, agent_id: str, after: str | None, limit: int, domain_limit: int | None = None
) -> ProfilePage:
    """Return a page of an agent's profile, all zero for an unknown agent.

    `domain_limit` bounds the domains read. Raises `NotFound` when the reader is another agent.
    """
    if reader.role is Audience.AGENT and reader.id != agent_id:
        raise NotFound("agent_not_found", "no such agent")
    found = await _read_consistent(deps.store, agent_id, _ProfileSum(after or "", limit, domain_limit))
    listed = found.first[:limit]
    domains = tuple(domain_profile(domain, tally) for domain, tally in listed)
    profile = agent_profile(agent_id, found.total, domains)
    return ProfilePage(profile, listed[-1][0] if len(found.first) > limit else None, not found.is_at_limit)


async def _read_consistent(store: Store, agent_id: str, empty: _ProfileSum) -> _ProfileSum:
    """Return the sum over one generation, read again if a rebuild replaced it meanwhile."""
    for _ in range(_TRIES):
        generation = (await read_head(store)).reading
        found = replace(empty, first=[])
        async with aclosing(_domains(store, generation, agent_id)) as domains:
            async for domain, tally in domains:
                found.add(domain, tally)
                if found.is_at_limit:
                    break
        if (await read_head(store)).reading == generation:
            return found
    raise StoreUnavailable(f"profiles were rebuilt {_TRIES} times while one was read")


async def _domains(store: Store, generation: int, agent_id: str) -> AsyncGenerator[tuple[str, ProfileTally], None]:
    """Yield each of the agent's domains once; its shards have neighbouring keys."""
    domain: str | None = None
    tally = ProfileTally()
    prefix = projected_key(generation, agent_key_prefix(agent_id))
    async with aclosing(documents_under(store, PROFILES, prefix)) as pages:
        async for page in pages:
            for shard in (stored.record for stored in page):
                if domain is not None and shard.domain != domain:
                    yield domain, tally
                    tally = ProfileTally()
                domain = shard.domain
                tally = sum_tallies((tally, shard.tally))
    if domain is not None:
        yield domain, tally
