import asyncio
import gc
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.contract import Candidate
from aex_outcomes import AgentContext, FatalAgentError, VerificationRejected
from aex_outcomes.lifecycle.ruling import RULING, Rejected, Rejection, serialize_ruling
from aex_outcomes.lifecycle.verifier import CheckedVerifier, ruling_from_exception


class Mute:
    def __str__(self) -> str:
        raise KeyError("no text")


class WithoutBaseInit(VerificationRejected):
    """Does not call the constructor of its base class."""

    def __init__(self, number: int) -> None:
        self.number = number


class WithProperties(WithoutBaseInit):
    """Has attributes that cannot be read."""

    @property
    def message(self) -> str:  # type: ignore[override]
        raise AttributeError("no message")

    @property
    def metadata(self) -> dict[str, Any]:  # type: ignore[override]
        raise RuntimeError("no metadata")


class Broken(Mapping[str, Any]):
    """A mapping that is none."""

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter("a")

    def __len__(self) -> int:
        return 1


def changed(**attributes: Any) -> VerificationRejected:
    error = VerificationRejected("no")
    vars(error).update(attributes)
    return error


async def ruled(error: BaseException) -> Rejected:
    def verify(_output: Any) -> None:
        raise error

    ruling = await CheckedVerifier(verify, Any).decide_ruling(Candidate(output=1), AgentContext(query="q"), None)
    read = RULING.validate_python(serialize_ruling(ruling, "mine"))
    assert isinstance(read, Rejected)
    return read


@pytest.mark.parametrize(
    ("error", "message", "code", "metadata"),
    [
        (VerificationRejected("no", "c", {3: "x"}), "no", "c", {"3": "x"}),  # type: ignore[dict-item]
        (VerificationRejected("no", "c", Counter([1, 1])), "no", "c", {"1": 2}),  # type: ignore[list-item]
        (VerificationRejected("no", None, {Mute(): 1}), "no", "rejected", {"Mute": 1}),  # type: ignore[dict-item]
        (VerificationRejected("no", "", None), "no", "rejected", {}),
        (VerificationRejected("no", "c", ["a"]), "no", "c", {"metadata": ["a"]}),  # type: ignore[arg-type]
        (VerificationRejected(Mute(), Mute()), "Mute", "Mute", {}),  # type: ignore[arg-type]
        (VerificationRejected(5, 7), "5", "7", {}),  # type: ignore[arg-type]
        (WithoutBaseInit(3), "3", "rejected", {}),
        (WithProperties(3), "3", "rejected", {}),
        (changed(metadata=5, code=3), "no", "3", {"metadata": 5}),
        (changed(metadata=Broken(), message=None), "no", "rejected", {}),
    ],
)
async def test_a_rejection_stands_however_it_is_made(error: Any, message: str, code: str, metadata: Any) -> None:
    assert (await ruled(error)).rejection == Rejection(message=message, code=code, metadata=metadata)


async def test_a_fatal_error_without_a_text_is_one_all_the_same() -> None:
    class Silent(Mute, FatalAgentError):
        pass

    ruling = await ruled(Silent())
    assert (ruling.fatal, ruling.rejection.message) == (True, "Silent")


@given(st.dictionaries(st.integers() | st.none() | st.tuples(st.text()) | st.binary(), st.integers(-9, 9), max_size=5))
def test_metadata_have_texts_for_keys(metadata: dict[Any, int]) -> None:
    error = VerificationRejected("no", metadata=metadata)
    assert error.metadata == {str(key): value for key, value in metadata.items()}
    assert len(serialize_ruling(ruling_from_exception(error), "mine")["rejection"]["metadata"]) == len(error.metadata)


NO, STOP, UNUSUAL = VerificationRejected("no"), FatalAgentError("stop"), OSError("odd")


@pytest.mark.parametrize(
    ("group", "message", "fatal"),
    [
        (ExceptionGroup("g", [NO]), "no", False),
        (ExceptionGroup("g", [ExceptionGroup("h", [STOP])]), "stop", True),
        (ExceptionGroup("g", [NO, ExceptionGroup("h", [STOP, NO])]), "stop", True),
        (ExceptionGroup("g", [VerificationRejected("first"), NO]), "first", False),
    ],
)
async def test_a_group_of_verdicts_is_its_worst(group: Any, message: str, fatal: bool) -> None:
    ruling = await ruled(group)
    assert (ruling.rejection.message, ruling.fatal) == (message, fatal)


@pytest.mark.parametrize("group", [[NO, UNUSUAL], [STOP, ExceptionGroup("h", [UNUSUAL])], [UNUSUAL]])
async def test_a_group_with_anything_else_is_a_failure_of_the_verifier(group: Any) -> None:
    with pytest.raises(ExceptionGroup, match="g"):
        await ruled(ExceptionGroup("g", group))


async def test_a_rejection_in_a_task_group_is_a_rejection() -> None:
    async def check() -> None:
        raise NO

    async def verify(_output: Any) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(check())

    with pytest.raises(VerificationRejected, match="no"):
        await CheckedVerifier(verify, Any).verify(Candidate(output=1), AgentContext(query="q"), None)


async def refusing() -> None:
    raise NO


async def forgetful(_output: Any) -> Any:
    return refusing()


async def later(_output: Any) -> Any:
    return asyncio.get_running_loop().create_future()


def items() -> Iterator[int]:
    yield 1


async def more_items() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("verify", "expected_message"),
    [
        (forgetful, "returned a coroutine that was not awaited: return await"),
        (later, "returned a Future that was not awaited: return await"),
        (lambda _output: items(), "returned a generator, which has not run"),
        (lambda _output: more_items(), "returned a generator, which has not run"),
        (lambda _output: NO, "returned the exception VerificationRejected, which would pass: raise it instead"),
        (lambda _output: FatalAgentError, "returned the exception FatalAgentError"),
    ],
)
async def test_what_would_pass_everything_by_mistake_is_a_mistake_that_is_named(
    verify: Any, expected_message: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match=expected_message):
            await CheckedVerifier(verify, Any).decide_ruling(Candidate(output=1), AgentContext(query="q"), None)
        gc.collect()
