"""Metrics and engine beside the libraries that they replace.

Each side does the same work on the same data, and equal results are checked before the timing. Objects that a user
would construct once are constructed once. Our side has no cached references, schemas or texts, unless the row says so.
"""

import asyncio
import dataclasses
import json
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema
import sacrebleu
import uvloop
from rouge_score.rouge_scorer import RougeScorer
from scipy.stats import spearmanr
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    matthews_corrcoef,
    mean_absolute_error,
    mean_absolute_percentage_error,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)

from aex_models.criteria import SuccessCriteria
from aex_models.governance import Action, ValidationDecision
from aex_outcomes import VerificationEngine
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.engine.candidate import CandidateFacts
from aex_outcomes.extractors.classification import ClassificationExtractor
from aex_outcomes.extractors.contains import ContainsExtractor
from aex_outcomes.extractors.probabilities import ProbabilityExtractor
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.extractors.regression import RegressionExtractor
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from aex_outcomes.sandbox.jobs import JOB
from aex_outcomes.sandbox.port import Limits
from tests.benchmarks.harness import BenchRow, BenchSize, TableRow, compare, repeat_call
from tests.libs.outcomes.kernels.texts import prose

ROUNDS = 7
TOKENS = 1_000
LABELS = 1_000
OBJECTS = 2_000
ROUGE = ("rouge1", "rouge2", "rougeL")
SCORES = ("accuracy", "precision", "recall", "f1_score")
Scores = dict[str, float]
ScoreCall = Callable[[Any], Awaitable[Scores]]

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


def _make_texts(count: int) -> list[tuple[str, str]]:
    """Return candidates and references of 1,000 tokens; they share about half of them."""
    texts = []
    for seed in range(count):
        source, words = random.Random(seed), prose(seed, TOKENS).split()
        texts.append((" ".join(words), " ".join(w if source.random() < 0.5 else w[::-1] for w in words)))
    return texts


def _make_labels(count: int) -> list[tuple[list[str], list[str]]]:
    """Return true and predicted labels of ten classes; four in five are equal."""
    source, classes = random.Random(1), [f"class {number}" for number in range(10)]
    truths = [source.choices(classes, k=LABELS) for _ in range(count)]
    return [(truth, [e if source.random() < 0.8 else source.choice(classes) for e in truth]) for truth in truths]


def _make_outputs(count: int) -> list[dict[str, Any]]:
    """Return outputs of many objects; in every other output the last object violates the schema."""
    source, outputs = random.Random(1), []
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
        outputs.append({"items": items})
    return outputs


@dataclass(frozen=True, slots=True)
class Comparison:
    """A metric computed by both sides on the same data.

    `repeats` are the operations of one round, own and baseline; `tolerance` is the allowed difference of scores.
    """

    name: str
    bar: float | None
    against: str
    own: ScoreCall
    baseline: ScoreCall
    data: Sequence[Any]
    repeats: tuple[int, int]
    tolerance: float = 0.0

    async def measure(self) -> BenchRow:
        """Check that both sides return equal scores, then compare their speed."""
        for each in self.data:
            own, baseline = await self.own(each), await self.baseline(each)
            is_equal = own.keys() == baseline.keys() and all(abs(own[k] - baseline[k]) <= self.tolerance for k in own)
            assert is_equal, f"{self.name}: own returned {own}, {self.against} returned {baseline}"
        our_side = repeat_call(self.own, self.data, self.repeats[0])
        their_side = repeat_call(self.baseline, self.data, self.repeats[1])
        return BenchRow(self.name, self.against, *await compare(our_side, their_side, ROUNDS), self.bar)


async def _measure_rouge() -> BenchRow:
    scorer = RougeScorer(list(ROUGE))

    async def own(pair: tuple[str, str]) -> Scores:
        extractor = TextQualityExtractor().for_metrics(frozenset(ROUGE))
        return _select(await extractor.extract({"reference": pair[1]}, {"text": pair[0]}, {}), ROUGE)

    async def baseline(pair: tuple[str, str]) -> Scores:
        scores = scorer.score(pair[1], pair[0])
        return {name: scores[name].fmeasure for name in ROUGE}

    name = "rouge1+2+L, 1,000 tokens"
    return await Comparison(name, 100, "RougeScorer.score", own, baseline, _make_texts(4), (60, 1), 1e-9).measure()


async def _measure_bleu() -> list[BenchRow]:
    async def baseline(pair: tuple[str, str]) -> Scores:
        return {"bleu_score": sacrebleu.corpus_bleu([pair[0]], [[pair[1]]]).score / 100}

    def own(make: Callable[[], TextQualityExtractor]) -> ScoreCall:
        async def call(pair: tuple[str, str]) -> Scores:
            extractor = make().for_metrics(frozenset({"bleu_score"}))
            return _select(await extractor.extract({"reference": pair[1]}, {"text": pair[0]}, {}), ["bleu_score"])

        return call

    warm, texts = TextQualityExtractor(), _make_texts(8)
    revisions = [(candidate, texts[0][1]) for candidate, _ in texts]
    name, against, repeats = "BLEU, 1,000 tokens", "corpus_bleu", (60, 30)
    warm_name = f"{name}, reference seen"
    return [
        await Comparison(name, 2, against, own(TextQualityExtractor), baseline, texts, repeats, 1e-9).measure(),
        await Comparison(warm_name, 4, against, own(lambda: warm), baseline, revisions, repeats, 1e-9).measure(),
    ]


async def _measure_classification() -> BenchRow:
    async def own(pair: tuple[list[str], list[str]]) -> Scores:
        scores = await ClassificationExtractor().extract({"ground_truth": pair[0]}, {"predictions": pair[1]}, {})
        return _select(scores, SCORES)

    async def baseline(pair: tuple[list[str], list[str]]) -> Scores:
        scores = [accuracy_score(*pair)]
        scores += [
            score(*pair, average="weighted", zero_division=0) for score in (precision_score, recall_score, f1_score)
        ]
        return dict(zip(SCORES, scores, strict=True))

    name, against = "accuracy+precision+recall+F1, 1,000 labels", "four calls of sklearn.metrics"
    return await Comparison(name, 50, against, own, baseline, _make_labels(8), (200, 4), 1e-12).measure()


async def _measure_predictions() -> list[BenchRow]:
    """Compare the scores of numbers, labels and probabilities: together, then each part."""
    source = random.Random(1)
    targets = [source.gauss(0, 1) for _ in range(LABELS)]
    numbers = [each + source.gauss(0, 0.3) for each in targets]
    [(truth, labels)] = _make_labels(1)
    answers = source.choices(["no", "yes"], k=LABELS)
    shares = [(source.random() + (answer == "yes")) / 2 for answer in answers]
    rows = [[1 - each, each] for each in shares]
    named_rows = [{"no": no, "yes": yes} for no, yes in rows]
    parts: dict[str, tuple[MetricExtractor, dict[str, Any], list[Any], Callable[[], Scores]]] = {
        "mae+rmse+mape+r2+spearman": (
            RegressionExtractor(),
            {"targets": targets},
            numbers,
            lambda: {
                "mae": mean_absolute_error(targets, numbers),
                "rmse": root_mean_squared_error(targets, numbers),
                "mape": mean_absolute_percentage_error(targets, numbers),
                "r2": r2_score(targets, numbers),
                "spearman": spearmanr(targets, numbers).statistic,
            },
        ),
        "macro_f1+micro_f1+balanced_accuracy+mcc": (
            ClassificationExtractor(),
            {"ground_truth": truth},
            labels,
            lambda: {
                "macro_f1": f1_score(truth, labels, average="macro", zero_division=0),
                "micro_f1": f1_score(truth, labels, average="micro", zero_division=0),
                "balanced_accuracy": balanced_accuracy_score(truth, labels),
                "mcc": matthews_corrcoef(truth, labels),
            },
        ),
        "roc_auc+log_loss+brier": (
            ProbabilityExtractor(),
            {"ground_truth": answers},
            [{"probabilities": each} for each in named_rows],
            lambda: {
                "roc_auc": roc_auc_score(answers, shares),
                "log_loss": log_loss(answers, rows),
                "brier": brier_score_loss(answers, shares, pos_label="yes"),
            },
        ),
    }

    async def own(names: tuple[str, ...]) -> Scores:
        found: Scores = {}
        for name in names:
            extractor, evaluation, predictions, _ = parts[name]
            scores = await extractor.extract(evaluation, {"predictions": predictions}, {})
            found |= _select(scores, name.split("+"))
        return found

    async def baseline(names: tuple[str, ...]) -> Scores:
        return {metric: value for name in names for metric, value in parts[name][3]().items()}

    against, every = "sklearn.metrics, scipy", tuple(parts)
    together = Comparison("all scores of predictions, 1,000 items", 5, against, own, baseline, [every], (40, 4), 1e-9)
    each = [
        Comparison(f"{name}, 1,000 items", None, against, own, baseline, [(name,)], (100, 10), 1e-9) for name in parts
    ]
    return [await comparison.measure() for comparison in (together, *each)]


async def _measure_schema() -> BenchRow:
    async def own(output: dict[str, Any]) -> Scores:
        return _select(await ContainsExtractor().extract({"output_schema": SCHEMA}, output, {}), ["matches_schema"])

    async def baseline(output: dict[str, Any]) -> Scores:
        try:
            jsonschema.validate(output, SCHEMA)
        except jsonschema.ValidationError:
            return {"matches_schema": False}
        return {"matches_schema": True}

    name = "schema check, 2,000 objects"
    return await Comparison(name, 50, "jsonschema.validate", own, baseline, _make_outputs(4), (40, 2)).measure()


class AllowAll:
    """Governance that allows every candidate."""

    async def validate(self, facts: CandidateFacts) -> ValidationDecision:  # noqa: ARG002 part of the protocol
        return ValidationDecision(valid=True, action=Action.ALLOW)


async def _measure_engine() -> list[BenchRow]:
    """Compare the engine with plain library calls, without caches.

    The second row adds the facts for governance, which no plain library call gathers.
    """
    scorer = RougeScorer(["rougeL"])

    def own(engine: VerificationEngine) -> ScoreCall:
        async def call(case: tuple[tuple[str, str], tuple[list[str], list[str]]]) -> Scores:
            (candidate, reference), (truth, predictions) = case
            result = await engine.verify(
                contract_id="ctr_1",
                work_input={},
                evaluation={"reference": reference, "ground_truth": truth},
                work_output={"text": candidate, "predictions": predictions},
                success_criteria=CRITERIA,
                execution_metadata={"duration_ms": 812},
            )
            return {"met": result.success, **_select(result.metrics, ("rougeL", "bleu_score", "f1_score"))}

        return call

    async def baseline(case: tuple[tuple[str, str], tuple[list[str], list[str]]]) -> Scores:
        (candidate, reference), pair = case
        rouge = scorer.score(reference, candidate)["rougeL"].fmeasure
        bleu = sacrebleu.corpus_bleu([candidate], [[reference]]).score / 100
        f1 = f1_score(*pair, average="weighted", zero_division=0)
        is_met = rouge >= 0.4 and bleu >= 0.1 and f1 >= 0.5
        return {"met": is_met, "rougeL": rouge, "bleu_score": bleu, "f1_score": f1}

    no_cache = {"caching": {"extractor_results_ttl": 0}}
    alone, governed = VerificationEngine(no_cache), VerificationEngine(no_cache, governance=AllowAll())
    cases = list(zip(_make_texts(24), _make_labels(24), strict=True))  # more than the prepared references that are kept
    name, against = "whole verification, four criteria, 1,000 tokens", "plain library calls"
    with_facts = "the same, with facts for governance"
    return [
        await Comparison(name, 50, against, own(alone), baseline, cases, (96, 1), 1e-9).measure(),
        await Comparison(with_facts, None, against, own(governed), baseline, cases, (48, 1), 1e-9).measure(),
    ]


async def _measure_custom_code() -> BenchRow:
    program = f"import json, sys\n{CODE}\nprint(json.dumps(evaluate(*json.load(sys.stdin))))"

    async def own(context: str) -> Scores:
        result = await pool.run(JOB, {"code": CODE, "context": context, "limits": dataclasses.asdict(Limits())})
        return _select(result["metrics"], ["share", "words"])

    async def baseline(context: str) -> Scores:
        return _select(json.loads(_run_python(program, context)), ["share", "words"])

    data = [json.dumps([{"topic": "cat"}, {"text": prose(seed, 200)}, {}]) for seed in range(4)]
    async with WorkerPool(1, jobs=[JOB], children=True) as pool:
        name, against = "custom metric, warm", "python -c in a subprocess"
        return await Comparison(name, 10, against, own, baseline, data, (40, 4)).measure()


def _run_python(program: str, text: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _select(metrics: Any, names: Sequence[str]) -> Scores:
    return {name: metrics[name] for name in names}


async def _measure() -> list[TableRow]:
    return [
        await _measure_rouge(),
        *await _measure_bleu(),
        await _measure_classification(),
        *await _measure_predictions(),
        await _measure_schema(),
        *await _measure_engine(),
        await _measure_custom_code(),
    ]


def measure_metrics(_: BenchSize) -> Sequence[TableRow]:
    """Return all rows, measured on the event loop of the services."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measure())
