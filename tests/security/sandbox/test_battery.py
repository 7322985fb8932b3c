"""Hostile code of every kind gets nothing, ends as it must, and leaves the sandbox as it was."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from aex_models.results import CUSTOM_METRIC_FAILED
from aex_outcomes.sandbox.port import FaultKind
from tests.security.sandbox import answering, exhausting, reaching
from tests.security.sandbox.bench import HONEST, MEMORY_LIMIT_MB, Bench, bench
from tests.security.sandbox.case import CANARY, Abuse

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

TABLES = {
    "files": reaching.FILES,
    "environment": reaching.ENVIRONMENT,
    "sockets": reaching.SOCKETS,
    "processes": reaching.PROCESSES,
    "introspection": reaching.INTROSPECTION,
    "loops": exhausting.LOOPS,
    "integers": exhausting.INTEGERS,
    "memory": exhausting.MEMORY_BOMBS,
    "patterns": exhausting.PATTERNS,
    "recursion": exhausting.RECURSION,
    "prints": exhausting.PRINTS,
    "results": answering.RESULTS,
    "exceptions": answering.RAISED,
    "parser": answering.PARSERS,
    "state": answering.LEFT_BEHIND,
}
CASES = [pytest.param(abuse, id=f"{kind}: {abuse.name}") for kind, abuses in TABLES.items() for abuse in abuses]
MOST_BYTES = 2 * MEMORY_LIMIT_MB << 20


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def location(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    file = tmp_path_factory.mktemp("canary") / "canary"
    file.write_text(str(CANARY), encoding="ascii")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AEX_CANARY", str(CANARY))
        async with bench(file) as ready:
            yield ready


async def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 60
    assert all(len(abuses) >= 5 for abuses in TABLES.values())


@pytest.mark.parametrize("abuse", CASES)
async def test_hostile_code_gets_nothing(location: Bench, abuse: Abuse) -> None:
    location.memory.peak_bytes = 0
    result = await location.run(abuse)
    if isinstance(abuse.end, FaultKind | frozenset):
        kinds = {abuse.end} if isinstance(abuse.end, FaultKind) else abuse.end
        assert result.error is not None, result.value
        assert result.error.code == CUSTOM_METRIC_FAILED
        assert result.error.message.split(": ")[1] in kinds, result.error.message
        assert str(CANARY) not in result.error.message
    else:
        assert result.error is None, result.error
        assert result.value == abuse.end
    assert (await location.judged(HONEST)).value == 42
    assert 0 <= location.memory.peak_bytes < MOST_BYTES
    assert location.file.read_text(encoding="ascii") == str(CANARY)
    assert [each.name for each in location.file.parent.iterdir()] == [location.file.name]


async def test_nothing_was_reached_and_the_service_kept_answering(location: Bench) -> None:
    """Last of all: over everything that ran before."""
    assert not location.listening.was_reached()
    assert location.memory.most_processes <= 3, "a worker, its interpreter, and one that is being replaced"
    assert location.pulse.longest_pause_s < 1
    assert location.pool.alive == 1
