"""Reads of agent profiles: totals over all of an agent's domains, and one page of domains by name.

Counts are stored in shards, several documents per domain, which are summed here.
"""

from bisect import insort
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from aex_governance.deps import Deps
from aex_governance.repository import PROFILES, iterate_pages_by_key_prefix, projected_key, read_projection_generations
from aex_governance.rules.histogram import build_agent_profile, build_domain_profile
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
    """Profile with the totals of all domains, and one page of domains."""

    profile: AgentProfile
    after: str | None
    """Last domain of this page; None if no more follow."""
    is_complete: bool = True
    """False if the agent has more domains than `max_domains`; then the totals cover only some of them."""


@dataclass(slots=True)
class _ProfileSum:
    """Running totals of an agent, and the domains of one page.

    Memory does not grow with the number of domains.
    """

    after: str
    limit: int
    max_domains: int | None = None
    read: int = 0
    total: ProfileTally = field(default_factory=ProfileTally)
    first: list[tuple[str, ProfileTally]] = field(default_factory=list)
    """Up to `limit + 1` domains that follow `after` by name."""

    @property
    def is_at_limit(self) -> bool:
        return self.max_domains is not None and self.read > self.max_domains

    def add(self, domain: str, tally: ProfileTally) -> None:
        self.read += 1
        if self.is_at_limit:
            return
        self.total = sum_tallies((self.total, tally.model_copy(update={"histograms": {}})))
        if domain > self.after and (len(self.first) <= self.limit or domain < self.first[-1][0]):
            insort(self.first, (domain, tally), key=lambda each: each[0])
            del self.first[self.limit + 1 :]


async def read_profile(
    deps: Deps,
    reader: Principal,
    agent_id: str,
    after_domain: str | None,
    page_size: int,
    max_domains: int | None = None,
) -> ProfilePage:
    """Return an agent's totals and a page of its domains, by name; an unknown agent has zero counts.

    The page begins after `after_domain`, or with the first domain if that is None. Totals stop at `max_domains`
    domains if it is given. Raises `NotFound` when the reader is another agent, and `StoreUnavailable` when rebuilds
    interrupt three reads.
    """
    if reader.role is Audience.AGENT and reader.id != agent_id:
        raise NotFound("agent_not_found", "no such agent")
    found = await _read_consistent(deps.store, agent_id, _ProfileSum(after_domain or "", page_size, max_domains))
    listed = found.first[:page_size]
    domains = tuple(build_domain_profile(domain, tally) for domain, tally in listed)
    profile = build_agent_profile(agent_id, found.total, domains)
    return ProfilePage(profile, listed[-1][0] if len(found.first) > page_size else None, not found.is_at_limit)


async def _read_consistent(store: Store, agent_id: str, empty: _ProfileSum) -> _ProfileSum:
    """Return the sums over one generation; reads again if a rebuild replaced it meanwhile."""
    for _ in range(_TRIES):
        generation = (await read_projection_generations(store)).reading
        found = replace(empty, first=[])
        async with aclosing(_domains(store, generation, agent_id)) as domains:
            async for domain, tally in domains:
                found.add(domain, tally)
                if found.is_at_limit:
                    break
        if (await read_projection_generations(store)).reading == generation:
            return found
    raise StoreUnavailable(f"profiles were rebuilt {_TRIES} times while one was read")


async def _domains(store: Store, generation: int, agent_id: str) -> AsyncGenerator[tuple[str, ProfileTally], None]:
    """Yield each of the agent's domains with the sum of its shards, which have neighbouring keys."""
    domain: str | None = None
    tally = ProfileTally()
    prefix = projected_key(generation, agent_key_prefix(agent_id))
    async with aclosing(iterate_pages_by_key_prefix(store, PROFILES, prefix)) as pages:
        async for page in pages:
            for shard in (stored.record for stored in page):
                if domain is not None and shard.domain != domain:
                    yield domain, tally
                    tally = ProfileTally()
                domain = shard.domain
                tally = sum_tallies((tally, shard.tally))
    if domain is not None:
        yield domain, tally
