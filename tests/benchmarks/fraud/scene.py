"""What a story is made with: dice, people, works and writers, all from one key."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from aex_models.criteria import SuccessCriteria
from aex_models.governance import Party, Severity
from tests.benchmarks.fraud.language import LANGUAGES, Writer
from tests.benchmarks.fraud.story import HONEST, Attempt, Label, Work

T = TypeVar("T")
TUNING_SEEDS = range(1, 21)
"""Those that rules may be tuned on. A report on any of them says so."""
AGENTS = 120
CONSUMERS = 50
_TYPES = {
    "accuracy": "accuracy",
    "f1_score": "f1_score",
    "bleu_score": "bleu_score",
    "rougeL": "rouge_score",
    "latency_ms": "latency",
    "contains_keywords": "contains",
}
SUMMARIES, TRANSLATIONS, TRIAGE, EXTRACTION, ANSWERS, NUMBERS, CODE, ROLLOUTS = (
    "news/summaries",
    "media/translation",
    "support/triage",
    "documents/extraction",
    "research/answers",
    "finance/figures",
    "software/code",
    "games/rollouts",
)


@dataclass(frozen=True, slots=True)
class Scene:
    """One story's surroundings. The same key gives the same story."""

    key: str
    subject: str
    variant: str
    random: Random

    def agent(self) -> Party:
        """Somebody with a record: one of those who do most of the work."""
        return _party(self.random, "agent", AGENTS)

    def consumer(self) -> Party:
        """One of those who have work done."""
        return _party(self.random, "consumer", CONSUMERS)

    def stranger(self, name: str = "agent") -> Party:
        """Somebody who appears in this story alone."""
        return Party(id=f"{name}-{self.key.replace('/', '-')}")

    def writer(self, *codes: str) -> Writer:
        """A writer of one of these languages, else of any; English more often, as on any market."""
        some = codes or (*LANGUAGES, "en", "en", "en")
        return Writer(self.random, self.random.choice(some))

    def known(self, options: Sequence[T]) -> T:
        """One of these wordings. Tuning seeds have the first two thirds alone: others tell how rules generalise."""
        is_tuning = int(self.key.partition("/")[0]) in TUNING_SEEDS
        return self.random.choice(options[: (2 * len(options) + 2) // 3] if is_tuning else options)

    def words(self) -> int:
        """A length: mostly one to three hundred words, at most 1,100; free text even where a fifth of it is cut."""
        return int(min(max(self.random.lognormvariate(5.1, 0.5), 105), 1_100))

    def work(
        self,
        domain: str,
        metrics: Sequence[str] = (),
        evaluation: Mapping[str, Any] | None = None,
        consumer: Party | None = None,
        tag: str = "",
        given: Mapping[str, Any] | None = None,
    ) -> Work:
        """A work of its own, judged by these metrics. `tag` tells works of one story apart."""
        criteria = (
            SuccessCriteria.model_validate({"criteria": [_criterion(each) for each in metrics]}) if metrics else None
        )
        return Work(
            work_id=f"work_{self.key.replace('/', '_')}{tag}",
            consumer=consumer or self.consumer(),
            domain=domain,
            criteria=criteria,
            evaluation=evaluation or {},
            given=given or {},
        )

    def candidate(self, agent: Party, work: Work, output: Any, **more: Any) -> Attempt:
        """An attempt with a plausible duration, measured by the platform too."""
        duration = float(round(self.random.lognormvariate(8.0, 0.6)))
        overhead = float(round(self.random.uniform(20, 400)))
        told: dict[str, Any] = {
            "metadata": {"duration_ms": duration, "ttfb_ms": float(round(duration * self.random.uniform(0.05, 0.5)))},
            "platform_latency_ms": duration + overhead,
        }
        return Attempt(agent=agent, work=work, output=output, **{**told, **more})

    def fraud(self, severity: Severity) -> Label:
        """The label of an attempt that breaks the rule."""
        return Label(self.subject, self.variant, severity)

    @property
    def honest(self) -> Label:
        """The label of honest work of this kind."""
        return Label(f"{HONEST}: {self.subject}", self.variant)


Make = Callable[[Scene], Sequence[Attempt]]
"""Makes one story."""


def _party(random: Random, name: str, count: int) -> Party:
    """Every third has an organisation, which it shares with few of its own kind and none of the other."""
    number = random.randrange(count)
    return Party(id=f"{name}-{number}", org=f"{name}s-org-{number // 6}" if number % 3 == 0 else None)


def _criterion(metric: str) -> dict[str, Any]:
    if metric == "contains_keywords":
        return {"metric": metric, "metric_type": "contains", "comparison": "gte", "threshold": 0.5}
    if metric == "latency_ms":
        return {"metric": metric, "metric_type": "latency", "comparison": "lte", "threshold": 60_000}
    kind = _TYPES.get(metric, "numeric")
    return {"metric": metric, "metric_type": kind, "comparison": "gte", "threshold": 0.3}
