"""Stories of the corpus: attempts, labels, and the scene that supplies parties, works and candidates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from aex_models.criteria import SuccessCriteria
from aex_models.governance import Party, ScienceFindings, Severity
from tests.benchmarks.fraud.writing import LANGUAGES, Writer

T = TypeVar("T")
HONEST = "honest"
TUNING_SEEDS = range(1, 21)
"""Seeds that rules may be tuned on; a report names them."""
AGENTS, CONSUMERS = 120, 50
_CRITERIA = {
    "accuracy": {"metric_type": "accuracy", "comparison": "gte", "threshold": 0.3},
    "bleu_score": {"metric_type": "bleu_score", "comparison": "gte", "threshold": 0.3},
    "contains_keywords": {"metric_type": "contains", "comparison": "gte", "threshold": 0.5},
    "rougeL": {"metric_type": "rouge_score", "comparison": "gte", "threshold": 0.3},
}
CLASSES = (("billing", "technical", "praise"), ("spam", "ham"), ("体育", "财经", "文化"), ("0", "1", "2"))


@dataclass(frozen=True, slots=True)
class Label:
    """Known truth about an attempt."""

    subject: str
    """The rule that must be raised, or the kind of honest work."""
    variant: str
    severity: Severity | None = None
    """Severity to expect; None for honest work."""

    @property
    def is_fraud(self) -> bool:
        return self.severity is not None


@dataclass(frozen=True, slots=True)
class Work:
    """A work with its criteria and hidden evaluation data."""

    work_id: str
    consumer: Party
    domain: str
    criteria: SuccessCriteria | None = None
    evaluation: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A posted candidate."""

    agent: Party
    work: Work
    output: Any
    minutes: float = 0.0
    """After the story's first attempt."""
    label: Label | None = None
    is_retry: bool = False
    """True for the previous candidate under the same contract."""
    earlier: Sequence[Any] = ()
    """Outputs judged before under the same contract."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    platform_latency_ms: float | None = None
    measured: Mapping[str, bool | float | None] = field(default_factory=dict)
    """Metrics beside those of the engine; None where not finite."""
    claimed: Mapping[str, bool | float] = field(default_factory=dict)
    science: ScienceFindings | None = None
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """Attempts in the order of posting; the key `seed/subject/number` determines them."""

    key: str
    attempts: Sequence[Attempt]


@dataclass(frozen=True, slots=True)
class Scene:
    """Parties, works and texts of one story, drawn from its key."""

    key: str
    subject: str
    variant: str
    random: Random

    def agent(self) -> Party:
        return self._party("agent", AGENTS)

    def consumer(self) -> Party:
        return self._party("consumer", CONSUMERS)

    def new_agent(self, name: str = "agent") -> Party:
        """Return an agent of this story alone."""
        return Party(id=f"{name}-{self.key.replace('/', '-')}")

    def writer(self, *codes: str) -> Writer:
        """Return a writer of one of these languages, else of any, half of them English."""
        return Writer(self.random, self.random.choice(codes or (*LANGUAGES, *["en"] * (len(LANGUAGES) - 2))))

    def select_known(self, options: Sequence[T]) -> T:
        """Return an option; tuning seeds have the first two thirds only, to measure how rules generalise."""
        is_tuning = int(self.key.partition("/")[0]) in TUNING_SEEDS
        return self.random.choice(options[: (2 * len(options) + 2) // 3] if is_tuning else options)

    def length(self) -> int:
        """Return a number of words, mostly 105 to 300, at most 1,100."""
        return int(min(max(self.random.lognormvariate(5.1, 0.5), 105), 1_100))

    def work(
        self,
        domain: str = "research/answers",
        metrics: Sequence[str] = (),
        evaluation: Mapping[str, Any] | None = None,
        consumer: Party | None = None,
        tag: str = "",
    ) -> Work:
        """Return a work of the story; `tag` distinguishes several."""
        criteria = [{"metric": each, **_CRITERIA[each]} for each in metrics]
        return Work(
            work_id=f"work_{self.key.replace('/', '_')}{tag}",
            consumer=consumer or self.consumer(),
            domain=domain,
            criteria=SuccessCriteria.model_validate({"criteria": criteria}) if criteria else None,
            evaluation=evaluation or {},
        )

    def text_work(self, writer: Writer, topic: str, tag: str = "", consumer: Party | None = None) -> Work:
        """Return a work for a text, measured against a hidden reference on the same topic."""
        metrics = self.random.choice([("rougeL",), ("rougeL", "bleu_score"), ()])
        return self.work("news/summaries", metrics, {"reference": writer.text(100, topic)}, consumer, tag)

    def label_work(self, count: int, tag: str = "", consumer: Party | None = None) -> tuple[Work, list[str]]:
        """Return a work of classification, and its true labels."""
        truth = self.random.choices(self.random.choice(CLASSES), k=count)
        return self.work("support/triage", ("accuracy",), {"ground_truth": truth}, consumer, tag), truth

    def term_work(self, terms: Sequence[str]) -> Work:
        """Return a work for a text with required terms."""
        return self.work(metrics=("contains_keywords",), evaluation={"required_keywords": list(terms)})

    def shape(self, text: str) -> Any:
        """Return the text bare, at `/text`, or with other fields."""
        return self.random.choice([{"text": text}, {"text": text, "title": text[:24]}, text])

    def candidate(self, agent: Party, work: Work, output: Any, **fields: Any) -> Attempt:
        """Return an attempt with plausible times."""
        duration = float(round(self.random.lognormvariate(8.0, 0.6)))
        times: dict[str, Any] = {
            "metadata": {"duration_ms": duration, "ttfb_ms": float(round(duration * self.random.uniform(0.05, 0.5)))},
            "platform_latency_ms": duration + self.random.randint(20, 400),
        }
        return Attempt(agent=agent, work=work, output=output, **{**times, **fields})

    def single(self, severity: Severity | None, output: Any, work: Work | None = None, **fields: Any) -> list[Attempt]:
        """Return a single labelled attempt, by an agent of its own where it is fraudulent."""
        agent = self.new_agent() if severity else self.agent()
        return [self.candidate(agent, work or self.work(), output, label=self.label(severity), **fields)]

    def label(self, severity: Severity | None = None) -> Label:
        return Label(self.subject if severity else f"{HONEST}: {self.subject}", self.variant, severity)

    def _party(self, name: str, count: int) -> Party:
        """Return a party; each third has an organisation, of its own kind only."""
        number = self.random.randrange(count)
        return Party(id=f"{name}-{number}", org=f"{name}s-org-{number // 6}" if number % 3 == 0 else None)


Variants = Mapping[str, Callable[[Scene], Sequence[Attempt]]]


def mislabel(random: Random, truth: Sequence[str], share: float) -> list[str]:
    """Return the labels with about this share drawn at random."""
    classes = sorted(set(truth))
    return [random.choice(classes) if random.random() < share else each for each in truth]
