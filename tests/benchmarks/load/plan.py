"""What one process of the load is to do: whom it speaks as, whom it asks, how many contracts it begins and when."""

from typing import Annotated

from pydantic import Field

from aex_models.frozen import Frozen


class Pair(Frozen):
    """A consumer and the agent that it awards its works to."""

    consumer: str
    """Its token, as the agent's."""
    agent: str
    agent_id: str


class Plan(Frozen):
    """The share of a load that one process has."""

    urls: dict[str, tuple[str, ...]]
    """Where each service is; of several replicas each request goes to any, as behind a load balancer."""
    pairs: Annotated[tuple[Pair, ...], Field(min_length=1)]
    first: int
    """The number of the first contract. No two of a load have the same."""
    contracts: Annotated[int, Field(ge=1)]
    per_s: Annotated[float, Field(gt=0)] | None = None
    """None, a closed loop: each pair begins its next contract once the last one is settled. Else an open loop: so
    many contracts are begun each second, at random moments, whatever became of those before."""
