from aex_models.results import Provenance
from aex_outcomes import LatencyExtractor


async def test_reported_times_become_metrics() -> None:
    metadata = {"duration_ms": 900, "ttfb_ms": 12.5, "processing_ms": 0, "platform_latency_ms": 1000.0}
    found = await LatencyExtractor().extract({}, {}, metadata)
    assert found == dict(zip(LatencyExtractor().supported_metrics(), (900, 12.5, 0, 1000.0), strict=True))
    assert set(found) == {"latency_ms", "time_to_first_byte", "processing_time", "platform_latency_ms"}


def test_the_agents_times_are_self_reported_and_the_platforms_is_measured() -> None:
    provenance = {entry.name: entry.provenance for entry in LatencyExtractor().catalog_entries()}
    assert provenance.pop("platform_latency_ms") is Provenance.MEASURED
    assert set(provenance.values()) == {Provenance.SELF_REPORTED}
