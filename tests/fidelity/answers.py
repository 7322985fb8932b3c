"""Differences of the metrics of answers from their libraries and from answers of known content."""

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sacrebleu
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from aex_outcomes.extractors.answers import AnswersExtractor
from aex_outcomes.extractors.protocol import MetricExtractor
from tests.fidelity.cases import TextCase
from tests.fidelity.differences import TEXT_BAR, FidelityRow
from tests.fidelity.squad import squad_exact, squad_f1

_TEXT_METRICS = {
    "exact_match": "SQuAD 2.0",
    "answer_f1": "SQuAD 2.0",
    "edit_similarity": "rapidfuzz",
    "fuzzy_ratio": "rapidfuzz",
    "chrf": "sacrebleu",
}


@dataclass(frozen=True, slots=True)
class ConstructedCase:
    """An answer that was built around a number or around labels, with its data and the right verdict."""

    metric: str
    data: Mapping[str, Any]
    text: str
    is_right: bool


async def answer_rows(
    texts: Iterable[TextCase], constructed: Iterable[ConstructedCase], extractor: MetricExtractor | None = None
) -> list[FidelityRow]:
    """Compare metrics of texts with their libraries, and other metrics with constructed answers."""
    extractor = extractor or AnswersExtractor()
    rows = {name: FidelityRow(name, reference, TEXT_BAR) for name, reference in _TEXT_METRICS.items()}
    for case in texts:
        own = await extractor.extract({"reference": list(case.references)}, {"text": case.candidate}, {})
        for name, value in _libraries(case.candidate, case.references).items():
            rows[name].count(own.get(name), value)
    for name in ("numeric_match", "choice_match"):
        rows[name] = FidelityRow(name, "constructed", 0)
    for each in constructed:
        found = await extractor.extract(each.data, {"text": each.text}, {})
        rows[each.metric].count(found.get(each.metric), each.is_right)
    return list(rows.values())


def _libraries(text: str, references: tuple[str, ...]) -> Mapping[str, float]:
    return {
        "exact_match": squad_exact(text, references),
        "answer_f1": squad_f1(text, references),
        "edit_similarity": max(Levenshtein.normalized_similarity(text, each) for each in references),
        "fuzzy_ratio": max(fuzz.ratio(text, each) for each in references) / 100,
        "chrf": sacrebleu.sentence_chrf(text, list(references)).score / 100,
    }


def constructed_cases(seed: int, count: int) -> Iterator[ConstructedCase]:
    """Yield as many answers with a number as answers with labels, right and wrong ones."""
    source = random.Random(seed)
    for _ in range(count):
        yield _numeric_case(source)
        yield _choice_case(source)


_UNITS = ("kg", "km/h", "%", "m²", "°C", "USD", "square meters")
_SENTENCES = (
    "{}",
    "It is {}.",
    "First 17, then {}",
    "v2 of 12 makes {}!",
    "**{}**",
    "Costs: {}, roughly",
    "x1 is\n{}\n",
)


def _numeric_case(source: random.Random) -> ConstructedCase:
    """Return an answer with a number whose distance from the expected one is known as a fraction."""
    expected = source.choice(
        [source.randint(-9_999_999, 9_999_999), round(source.uniform(-99, 99), 3), 0, 1e17, 2.5e-7]
    )
    absolute = source.choice([0, 0, 1, 0.001, 5e-8, 250])
    relative = source.choice([0, 0, 0.01, 0.5, 1e-9])
    tolerance = max(Fraction(repr(absolute)), Fraction(repr(relative)) * abs(Fraction(repr(expected))))
    share = Fraction(source.choice(["0", "0", "0.5", "1", "-1", "1.000000000001", "-2"]))
    exact = Fraction(repr(expected)) + share * tolerance + Fraction(source.choice(["0", "0", "1e-20"]))
    units = source.choice([None, list(source.sample(_UNITS, 2))])
    behind = source.choice(["", *(units or []), *source.sample(_UNITS, 1)])
    text, is_number = _write_number(source, exact), units is not None or behind != "%"
    blank = source.choice(["", " "]) if units is not None or behind == "%" else " "
    sentence = source.choice(_SENTENCES if not behind else _SENTENCES[:1])
    is_number = is_number or blank == " "
    is_in_unit = units is None or not behind or behind in units
    data = {"value": expected, "abs_tol": absolute, "rel_tol": relative, "units": units}
    is_right = is_number and is_in_unit and abs(exact - Fraction(repr(expected))) <= tolerance
    answer = sentence.format(text) + (blank + behind if behind else "")
    return ConstructedCase("numeric_match", {"numeric": data}, answer, is_right)


def _write_number(source: random.Random, number: Fraction) -> str:
    """Return a number with a finite decimal expansion in one of the notations that texts use."""
    scale = next(scale for scale in range(80) if (number * 10**scale).denominator == 1)
    digits = str(abs(int(number * 10**scale))).rjust(scale + 1, "0")
    integer, decimals = digits[: len(digits) - scale], digits[len(digits) - scale :]
    sign = source.choice(["-", "−"]) if number < 0 else source.choice(["", "", "+"])
    style = source.choice(["plain", "commas", "exponent"])
    if style == "exponent":
        return f"{sign}{digits}{source.choice('eE')}{-scale}"
    integer = f"{int(integer):,}" if style == "commas" else integer
    return f"{sign}{source.choice(['', '$']) if style == 'commas' else ''}{integer}{'.' if decimals else ''}{decimals}"


def _choice_case(source: random.Random) -> ConstructedCase:
    """Return an answer that gives labels in one of the ways that texts do."""
    labels = source.choice([[*"ABCD"], [*"abcdef"], [*"12345"], ["yes", "no", "not known"]])
    texts = source.sample(["Paris", "dog", "C++", "15", "1.5", "−15"], len(labels))
    options = dict(zip(labels, texts, strict=True)) if "yes" in labels or source.random() < 0.8 else None
    correct = source.sample(labels, source.choice([1, 1, 2]))
    given = correct if source.random() < 0.5 else source.sample(labels, source.choice([1, 2]))
    written = [
        source.choice(["{}", "({})", "**{}**", "[{}]"]).format(each) for each in source.sample(given, len(given))
    ]
    listed = source.choice([", ", " and ", "; ", " & "]).join(written)
    sentence = source.choice(["{}", "{}.", "The answer is {}.", "No A. **Answer:** {}", "answer: {}\nNot B"])
    answer = sentence.format(listed if source.random() < 0.5 else listed.upper())
    if options is not None and len(given) == 1 and source.random() < 0.3:
        answer = source.choice(["{}", "The {}.", "answer is {}", "“{}”"]).format(options[given[0]])
    data = {"correct": correct if len(correct) > 1 else correct[0], "options": options}
    return ConstructedCase("choice_match", {"choice": data}, answer, set(given) == set(correct))
