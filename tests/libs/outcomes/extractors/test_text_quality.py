from typing import Any

import pytest

from aex_outcomes import AgentFault, TextQualityExtractor
from aex_outcomes.kernels.bleu import BleuReference, bleu


async def extract(output: Any, reference: Any = None, **settings: Any) -> dict[str, Any]:
    return dict(await TextQualityExtractor(**settings).extract({"reference": reference}, output, {}))


async def test_lengths_count_code_points_at_the_configured_pointer() -> None:
    expected = {"output_length": 9, "word_count": 3}
    text = "né 👩\u200d👩  b"
    assert await extract({"text": text}) == await extract(text, text_pointer="") == expected
    assert await extract({"answer": [{"body": text}]}, text_pointer="/answer/0/body") == expected


async def test_configured_and_selected_metrics_are_computed() -> None:
    extractor = TextQualityExtractor(rouge_types=["rouge3"])
    assert extractor.supported_metrics() == ["bleu_score", "rouge3", "output_length", "word_count"]
    assert (await extractor.extract({"reference": "a b c d"}, {"text": "a b c d"}, {}))["rouge3"] == 1
    narrowed = TextQualityExtractor().for_metrics(frozenset({"rouge1", "output_length"}))
    found = await narrowed.extract({"reference": "a b"}, {"text": "a b"}, {})
    assert found == {"rouge1": 1, "output_length": 3, "word_count": 2}


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


@pytest.mark.parametrize(
    ("extractor", "long", "longer"),
    [
        (TextQualityExtractor(max_text_length=10), ["12345", "67890"], ["12345", "678901"]),
        (TextQualityExtractor(), ["a " * 100_000, "b " * 100_000], ["a " * 100_000, "b " * 100_001]),
    ],
)
def test_references_have_a_maximum_size(extractor: TextQualityExtractor, long: list[str], longer: list[str]) -> None:
    assert not list(extractor.check_evaluation({"reference": long}))
    [problem] = extractor.check_evaluation({"reference": longer})
    assert (problem.path, problem.code) == ("/reference", "reference_too_long")


async def test_similarity_is_that_to_all_references_and_secret() -> None:
    references = ["the cat sat down", "a dog ran off"]
    found = await extract({"text": "a dog ran off"}, references)
    assert found["rougeL"] == found["rouge2"] == 1
    assert found["bleu_score"] == bleu("a dog ran off", BleuReference.from_texts(references))
    secret = {entry.name for entry in TextQualityExtractor().catalog_entries() if entry.secret}
    assert secret == {"bleu_score", "rouge1", "rouge2", "rougeL"}


async def test_a_text_too_long_for_rouge_l_has_all_other_metrics() -> None:
    found = await extract({"text": "a " * 40_000}, ["a"] * 1_500)
    assert isinstance(fault := found.pop("rougeL"), AgentFault)
    assert fault.code == "text_too_long"
    assert "1500" not in fault.message
    assert set(found) == {"output_length", "word_count", "rouge1", "rouge2", "bleu_score"}
