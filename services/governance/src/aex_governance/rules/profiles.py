"""What the shards of an agent's record say together."""

from collections.abc import Mapping

from aex_governance.rules.histogram import middle_of, weighted_median
from aex_governance.rules.projection.documents import Buckets, Tally
from aex_models.governance import AgentProfile, DomainProfile, MetricProfile


def domain_profile(domain: str, tally: Tally) -> DomainProfile:
    """An agent's record in one domain."""
    metrics = {name: metric_profile(buckets) for name, buckets in sorted(tally.histograms.items())}
    return DomainProfile(
        domain=domain,
        outcomes=tally.outcomes,
        successes=tally.successes,
        success_rate=_rate(tally),
        final_statuses=_sorted(tally.final_statuses),
        decisions=_sorted(tally.decisions),
        flags=_sorted(tally.flags),
        metrics={name: found for name, found in metrics.items() if found is not None},
    )


def agent_profile(agent_id: str, total: Tally, domains: tuple[DomainProfile, ...]) -> AgentProfile:
    """An agent's record, with those of its domains that are shown."""
    return AgentProfile(
        agent_id=agent_id,
        outcomes=total.outcomes,
        successes=total.successes,
        success_rate=_rate(total),
        final_statuses=_sorted(total.final_statuses),
        decisions=_sorted(total.decisions),
        flags=_sorted(total.flags),
        domains=domains,
    )


def metric_profile(buckets: Buckets) -> MetricProfile | None:
    """Median and median absolute deviation, in the metric's unit; None of an empty histogram."""
    values = [(_middle(bucket, buckets.level), count) for bucket, count in buckets.counts.items()]
    if not values:
        return None
    median = weighted_median(values)
    mad = weighted_median((abs(value - median), count) for value, count in values)
    return MetricProfile(count=sum(count for _, count in values), median=median, mad=mad)


def _middle(bucket: int, level: int) -> float:
    """The middle of a bucket that holds 2^level of level 0."""
    return middle_of((bucket << level) + ((1 << level) - 1) / 2)


def _rate(tally: Tally) -> float | None:
    return tally.successes / tally.outcomes if tally.outcomes else None


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))
