"""Metrics of a text, and none without one."""

from typing import Any

import pytest

from aex_outcomes import AgentFault, TextQualityExtractor
from aex_outcomes.kernels.bleu import BleuReference, bleu


async def extract(output: Any, reference: Any = None, **settings: Any) -> dict[str, Any]:
    return dict(await TextQualityExtractor(**settings).extract({"reference": reference}, output, {}))


@pytest.mark.parametrize("output", [None, "bare", {}, {"text": None}, {"text": 5}, {"text": ["a"]}, [], {"body": "a"}])
async def test_without_a_text_there_are_no_metrics(output: Any) -> None:
    assert await extract(output, "a reference") == {}


async def test_an_empty_text_has_all_metrics() -> None:
    assert await extract({"text": ""}, "a") == {
        "output_length": 0,
        "word_count": 0,
        "rouge1": 0,
        "rouge2": 0,
        "rougeL": 0,
        "bleu_score": 0,
    }


async def test_lengths_need_no_reference_and_count_code_points() -> None:
    assert await extract({"text": "né 👩\u200d👩  b"}) == {"output_length": 9, "word_count": 3}


async def test_several_references_count_together() -> None:
    references = ["the cat sat down", "a dog ran off"]
    found = await extract({"text": "a dog ran off"}, references)
    assert found["rougeL"] == found["rouge2"] == 1
    assert found["bleu_score"] == bleu("a dog ran off", BleuReference.of(references))


async def test_the_pointer_to_the_text_is_configurable() -> None:
    found = await extract({"answer": [{"body": "abc"}]}, text_pointer="/answer/0/body")
    assert found["output_length"] == 3
    assert (await extract("abc", text_pointer=""))["output_length"] == 3


async def test_rouge_types_are_configurable() -> None:
    extractor = TextQualityExtractor(rouge_types=["rouge3"])
    assert "rouge3" in extractor.supported_metrics()
    assert "rouge1" not in extractor.supported_metrics()
    assert (await extractor.extract({"reference": "a b c d"}, {"text": "a b c d"}, {}))["rouge3"] == 1


async def test_no_more_is_computed_than_is_asked_for() -> None:
    narrowed = TextQualityExtractor().only(frozenset({"rouge1", "output_length"}))
    found = await narrowed.extract({"reference": "a b"}, {"text": "a b"}, {})
    assert {"rougeL", "rouge2", "bleu_score"}.isdisjoint(found)
    assert found["rouge1"] == 1


@pytest.mark.parametrize(
    ("text", "code"), [("x" * 11, "text_too_long"), ("ab\ud800", "not_unicode"), ("日本\udfff", "not_unicode")]
)
async def test_texts_that_cannot_be_measured_are_the_agents_fault(text: str, code: str) -> None:
    with pytest.raises(AgentFault) as fault:
        await extract({"text": text}, max_text_length=10)
    assert fault.value.code == code


@pytest.mark.parametrize(
    "settings",
    [{"text_pointer": "text"}, {"text_pointer": "/a~2"}, {"rouge_types": ["rougeLsum"]}, {"rouge_types": "rouge1"}],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"pointer|rouge_types"):
        TextQualityExtractor(**settings)


def test_references_have_a_size_in_all() -> None:
    extractor = TextQualityExtractor(max_text_length=10)
    assert not list(extractor.check_evaluation({"reference": ["12345", "67890"]}))
    [problem] = extractor.check_evaluation({"reference": ["12345", "678901"]})
    assert (problem.path, problem.code) == ("/reference", "reference_too_long")


def test_likeness_to_the_reference_is_secret_and_lengths_are_not() -> None:
    secret = {entry.name for entry in TextQualityExtractor().catalog_entries() if entry.secret}
    assert secret == {"bleu_score", "rouge1", "rouge2", "rougeL"}


async def test_a_text_too_long_for_rouge_l_has_all_other_metrics() -> None:
    found = await extract({"text": "a " * 40_000}, ["a"] * 1_500)
    assert isinstance(fault := found.pop("rougeL"), AgentFault)
    assert fault.code == "text_too_long"
    assert "1500" not in fault.message
    assert set(found) == {"output_length", "word_count", "rouge1", "rouge2", "bleu_score"}


def test_references_have_a_number_of_words_in_all() -> None:
    extractor = TextQualityExtractor()
    assert not list(extractor.check_evaluation({"reference": ["a " * 100_000, "b " * 100_000]}))
    [problem] = extractor.check_evaluation({"reference": ["a " * 100_000, "b " * 100_001]})
    assert (problem.path, problem.code) == ("/reference", "reference_too_long")
