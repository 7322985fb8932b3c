from typing import Any

import pytest

from aex_outcomes import AgentFault, ContainsExtractor


async def extract(output: Any, **evaluation: Any) -> dict[str, Any]:
    return dict(await ContainsExtractor().extract(evaluation, output, {}))


async def test_terms_are_looked_for_in_the_text_alone_never_in_keys() -> None:
    output = {"text": "revenue grew", "margin": "margin", "notes": ["dividend"]}
    found = await extract(output, required_keywords=["revenue", "margin", "dividend"])
    assert found["contains_keywords"] == pytest.approx(1 / 3)


async def test_pattern_applies_to_the_text_and_schema_to_the_complete_output() -> None:
    assert (await extract({"text": "total: 12"}, pattern=r"\d+$"))["matches_pattern"] is True
    assert (await extract({"text": "total: 12 €"}, pattern=r"\d+$"))["matches_pattern"] is False
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    assert (await extract({"n": 1}, output_schema=schema))["matches_schema"] is True
    assert (await extract([1], output_schema=schema))["matches_schema"] is False
    assert (await extract([1], output_schema={}))["matches_schema"] is True


@pytest.mark.parametrize(
    ("output", "fields", "expected"),
    [
        ({"a": None, "b": 0}, ["a", "b"], 1),
        ({"a": 1}, ["a", "b"], 0.5),
        ({"a": 1}, ["a", "b", "a", "c"], 1 / 3),
        ({"a": {"b": [1]}}, ["/a/b/0"], 1),
        ({"a": {"b": [1]}}, ["/a/b/1"], 0),
        ({"a/b": 1}, ["a/b", "/a~1b"], 1),
        (["a"], ["a"], 0),
        ("a", ["a"], 0),
    ],
)
async def test_the_share_of_required_keys_and_pointers_is_found(
    output: Any, fields: list[str], expected: float
) -> None:
    assert (await extract(output, required_fields=fields))["has_required_fields"] == expected


async def test_what_was_compiled_serves_the_next_candidates() -> None:
    extractor = ContainsExtractor()
    found = [
        await extractor.extract({"pattern": f"^{number % 100}$"}, {"text": str(number)}, {}) for number in range(200)
    ]
    assert sum(bool(each["matches_pattern"]) for each in found) == 100


async def test_a_text_that_unfolds_beyond_its_limit_is_the_agents_fault_and_a_pattern_is_still_matched() -> None:
    evaluation = {"required_keywords": ["a"], "pattern": "x$"}
    short = ContainsExtractor(max_text_length=20)
    assert (await short.extract(evaluation, {"text": "\ufdfa" * 2 + " a x"}, {}))["contains_keywords"] == 1
    found = await short.extract(evaluation, {"text": "\ufdfa" * 3 + " a x"}, {})
    assert isinstance(fault := found["contains_keywords"], AgentFault)
    assert fault.code == "text_too_long"
    assert found["matches_pattern"] is True


async def test_only_selected_metrics_are_computed() -> None:
    evaluation = {"required_keywords": ["a"], "pattern": "(", "output_schema": {"type": "?"}, "required_fields": ["b"]}
    narrowed = ContainsExtractor().for_metrics(frozenset({"contains_keywords"}))
    assert await narrowed.extract(evaluation, {"text": "a"}, {}) == {"contains_keywords": 1}


async def test_prepared_text_is_not_reused_for_another() -> None:
    extractor = ContainsExtractor()
    for text, share in [("cat", 1), ("concatenate", 0), ("cat dog", 1), ("cat", 1)]:
        found = await extractor.extract({"required_keywords": ["cat"]}, {"text": text}, {})
        assert found == {"contains_keywords": share}
