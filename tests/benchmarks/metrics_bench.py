"""Metrics and engine beside the libraries that one would call instead: `python -m tests.benchmarks.metrics_bench`.

Each side does the same work on the same data, and says the same: that is checked before anything is timed. What a user
would construct once is constructed once. Ours starts cold, on references, schemas and texts not seen before, unless the
row says otherwise.
"""

import asyncio
import dataclasses
import json
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

import jsonschema
import sacrebleu
import uvloop
from rouge_score.rouge_scorer import RougeScorer
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from aex_models.criteria import SuccessCriteria
from aex_models.governance import Action, ValidationDecision
from aex_outcomes import VerificationEngine
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.engine.candidate import CandidateFacts
from aex_outcomes.extractors.classification import ClassificationExtractor
from aex_outcomes.extractors.contains import ContainsExtractor
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from aex_outcomes.sandbox.job import JOB
from aex_outcomes.sandbox.port import Limits
from tests.benchmarks.bars import Row, table
from tests.benchmarks.sides import Side, compare
from tests.libs.outcomes.kernels.texts import prose

ROUNDS = 7
TOKENS = 1_000
LABELS = 1_000
OBJECTS = 2_000
ROUGE = ("rouge1", "rouge2", "rougeL")
SCORES = ("accuracy", "precision", "recall", "f1_score")
Scores = dict[str, float]
One = Callable[[Any], Awaitable[Scores]]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["items"],
    "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
    "$defs": {
        "item": {
            "type": "object",
            "required": ["id", "name", "price", "tags"],
            "additionalProperties": False,
            "properties": {
                "id": {"type": "integer", "minimum": 0},
                "name": {"type": "string", "minLength": 1, "maxLength": 80},
                "price": {"type": "number", "exclusiveMinimum": 0},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
                "kind": {"enum": ["a", "b", None]},
            },
        }
    },
}
CRITERIA = SuccessCriteria.model_validate(
    {
        "criteria": [
            {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4},
            {"metric": "bleu_score", "metric_type": "bleu_score", "comparison": "gte", "threshold": 0.1},
            {"metric": "f1_score", "metric_type": "f1_score", "comparison": "gte", "threshold": 0.5},
            {"metric": "latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 5_000},
        ]
    }
)

CODE = """
def evaluate(input, output, metadata):
    words = output["text"].split()
    long = [word for word in words if len(word) > 6]
    return {"share": len(long) / len(words), "words": len(words)}
"""


def texts(count: int) -> list[tuple[str, str]]:
    """Candidates and references of 1,000 tokens, of which about half are shared."""
    made = []
    for seed in range(count):
        source, words = random.Random(seed), prose(seed, TOKENS).split()
        made.append((" ".join(words), " ".join(w if source.random() < 0.5 else w[::-1] for w in words)))
    return made


def labels(count: int) -> list[tuple[list[str], list[str]]]:
    """True and predicted labels of ten classes; four in five are right."""
    source, classes = random.Random(1), [f"class {number}" for number in range(10)]
    truths = [source.choices(classes, k=LABELS) for _ in range(count)]
    return [(truth, [e if source.random() < 0.8 else source.choice(classes) for e in truth]) for truth in truths]


def outputs(count: int) -> list[dict[str, Any]]:
    """Objects in one output; every other output has one that does not conform, at the end."""
    source, made = random.Random(1), []
    for number in range(count):
        items: list[dict[str, Any]] = [
            {
                "id": position,
                "name": f"item {position}",
                "price": source.random() + 0.01,
                "tags": ["x", "y"][: position % 3],
                "kind": source.choice(["a", "b", None]),
            }
            for position in range(OBJECTS)
        ]
        items[-1]["price"] = 0.5 - number % 2
        made.append({"items": items})
    return made


def side(one: One, data: Sequence[Any], operations: int) -> Side:
    """Rounds of so many operations, on the data in turn."""
    turns: Iterator[Any] = cycle(data)

    async def run() -> int:
        for _ in range(operations):
            await one(next(turns))
        return operations

    return run


async def row(
    name: str, bar: float | None, against: str, ours: One, theirs: One, data: Sequence[Any],
    operations: tuple[int, int], *, apart: float = 0.0,
) -> Row:  # fmt: skip
    """Check that both say the same of all data, then measure. `operations`: a round's, of ours and of theirs."""
    for each in data:
        said, expected = await ours(each), await theirs(each)
        if said.keys() != expected.keys() or any(abs(said[key] - expected[key]) > apart for key in said):
            raise AssertionError(f"{name}: ours says {said}, {against} says {expected}")
    measured = await compare(name, side(ours, data, operations[0]), side(theirs, data, operations[1]), ROUNDS)
    return Row.of(measured, against, bar)


async def rouge_row() -> Row:
    scorer = RougeScorer(list(ROUGE))

    async def ours(pair: tuple[str, str]) -> Scores:
        cold = TextQualityExtractor().only(frozenset(ROUGE))
        return _picked(await cold.extract({"reference": pair[1]}, {"text": pair[0]}, {}), ROUGE)

    async def theirs(pair: tuple[str, str]) -> Scores:
        found = scorer.score(pair[1], pair[0])
        return {name: found[name].fmeasure for name in ROUGE}

    return await row("rouge1+2+L, 1,000 tokens", 100, "RougeScorer.score", ours, theirs, texts(4), (60, 1), apart=1e-9)


async def bleu_rows() -> list[Row]:
    async def theirs(pair: tuple[str, str]) -> Scores:
        return {"bleu_score": sacrebleu.corpus_bleu([pair[0]], [[pair[1]]]).score / 100}

    def ours(extractor: Callable[[], TextQualityExtractor]) -> One:
        async def one(pair: tuple[str, str]) -> Scores:
            chosen = extractor().only(frozenset({"bleu_score"}))
            return _picked(await chosen.extract({"reference": pair[1]}, {"text": pair[0]}, {}), ["bleu_score"])

        return one

    warm = TextQualityExtractor()
    revisions = [(candidate, texts(1)[0][1]) for candidate, _ in texts(8)]
    name, against = "BLEU, 1,000 tokens", "corpus_bleu"
    return [
        await row(name, 2, against, ours(TextQualityExtractor), theirs, texts(8), (60, 30), apart=1e-9),
        await row(f"{name}, reference seen", 4, against, ours(lambda: warm), theirs, revisions, (60, 30), apart=1e-9),
    ]


async def labels_row() -> Row:
    async def ours(pair: tuple[list[str], list[str]]) -> Scores:
        found = await ClassificationExtractor().extract({"ground_truth": pair[0]}, {"predictions": pair[1]}, {})
        return _picked(found, SCORES)

    async def theirs(pair: tuple[list[str], list[str]]) -> Scores:
        found = [accuracy_score(*pair)]
        found += [
            each(*pair, average="weighted", zero_division=0) for each in (precision_score, recall_score, f1_score)
        ]
        return dict(zip(SCORES, found, strict=True))

    name, against = "accuracy+precision+recall+F1, 1,000 labels", "four calls of sklearn.metrics"
    return await row(name, 50, against, ours, theirs, labels(8), (200, 4), apart=1e-12)


async def schema_row() -> Row:
    async def ours(output: dict[str, Any]) -> Scores:
        return _picked(await ContainsExtractor().extract({"output_schema": SCHEMA}, output, {}), ["matches_schema"])

    async def theirs(output: dict[str, Any]) -> Scores:
        try:
            jsonschema.validate(output, SCHEMA)
        except jsonschema.ValidationError:
            return {"matches_schema": False}
        return {"matches_schema": True}

    return await row("schema check, 2,000 objects", 50, "jsonschema.validate", ours, theirs, outputs(4), (40, 2))


class Allowing:
    """Governance that is told all about a candidate, and allows it."""

    async def validate(self, facts: CandidateFacts) -> ValidationDecision:  # noqa: ARG002 part of the protocol
        return ValidationDecision(valid=True, action=Action.ALLOW)


async def engine_rows() -> list[Row]:
    """The engine remembers nothing here. Without governance what is left is judging; with it, as in the services,
    the facts that it is told are gathered too, which no plain library call does.
    """
    scorer = RougeScorer(["rougeL"])
    names = ("rougeL", "bleu_score", "f1_score")

    def ours(engine: VerificationEngine) -> One:
        async def one(case: tuple[tuple[str, str], tuple[list[str], list[str]]]) -> Scores:
            (candidate, reference), (truth, predictions) = case
            found = await engine.verify(
                contract_id="ctr_1",
                work_input={},
                evaluation={"reference": reference, "ground_truth": truth},
                work_output={"text": candidate, "predictions": predictions},
                success_criteria=CRITERIA,
                execution_metadata={"duration_ms": 812},
            )
            return {"met": found.success, **_picked(found.metrics, names)}

        return one

    async def theirs(case: tuple[tuple[str, str], tuple[list[str], list[str]]]) -> Scores:
        (candidate, reference), pair = case
        rouge = scorer.score(reference, candidate)["rougeL"].fmeasure
        bleu = sacrebleu.corpus_bleu([candidate], [[reference]]).score / 100
        f1 = f1_score(*pair, average="weighted", zero_division=0)
        met = rouge >= 0.4 and bleu >= 0.1 and f1 >= 0.5
        return {"met": met, "rougeL": rouge, "bleu_score": bleu, "f1_score": f1}

    forgetful = {"caching": {"extractor_results_ttl": 0}}
    judging, telling = VerificationEngine(forgetful), VerificationEngine(forgetful, governance=Allowing())
    cases = list(zip(texts(24), labels(24), strict=True))  # more than references are kept prepared
    name, against = "whole verification, four criteria, 1,000 tokens", "plain library calls"
    return [
        await row(name, 50, against, ours(judging), theirs, cases, (96, 1), apart=1e-9),
        await row("the same, and governance told", None, against, ours(telling), theirs, cases, (48, 1), apart=1e-9),
    ]


async def custom_row() -> Row:
    """The same code in a warm confined worker, and as one would run it without one."""
    program = f"import json, sys\n{CODE}\nprint(json.dumps(evaluate(*json.load(sys.stdin))))"

    async def ours(context: str) -> Scores:
        answer = await pool.run(JOB, {"code": CODE, "context": context, "limits": dataclasses.asdict(Limits())})
        return _picked(answer["metrics"], ["share", "words"])

    async def theirs(context: str) -> Scores:
        return _picked(json.loads(_in_a_subprocess(program, context)), ["share", "words"])

    data = [json.dumps([{"topic": "cat"}, {"text": prose(seed, 200)}, {}]) for seed in range(4)]
    async with WorkerPool(1, jobs=[JOB], children=True) as pool:
        return await row("custom metric, warm", 10, "python -c in a subprocess", ours, theirs, data, (40, 4))


def _in_a_subprocess(program: str, given: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def _picked(found: Any, names: Sequence[str]) -> Scores:
    return {name: found[name] for name in names}


async def measure() -> list[Row]:
    """All rows."""
    return [
        await rouge_row(),
        *await bleu_rows(),
        await labels_row(),
        await schema_row(),
        *await engine_rows(),
        await custom_row(),
    ]


def main() -> None:
    """Measure and print."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as services run
        sys.stdout.write(table(runner.run(measure())) + "\n")


if __name__ == "__main__":
    main()
