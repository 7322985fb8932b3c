"""Configuration in `outcome-verification.yaml`: extractors, verifiers, verification and caching."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from aex_models.criteria import MAX_CRITERIA
from aex_models.frozen import Frozen, Identifier, StrictBool, StrictInt
from aex_models.validation_messages import message_of

BUILT_IN = {
    "latency": "LatencyExtractor",
    "text_quality": "TextQualityExtractor",
    "classification": "ClassificationExtractor",
    "regression": "RegressionExtractor",
    "probabilities": "ProbabilityExtractor",
    "contains": "ContainsExtractor",
    "answers": "AnswersExtractor",
    "records": "RecordsExtractor",
    "ranking": "RankingExtractor",
    "custom": "CustomExtractor",
    "sql": "SqlExtractor",
    "statistics": "RecomputedStatisticsExtractor",
    "science": "ScienceExtractor",
    "rollout": "RolloutExtractor",
    "tests": "HiddenTestsExtractor",
}
"""Classes of the built-in extractors, by section of `extractors`; their sections need no `class`."""


class InvalidConfig(ValueError):
    """Error of an invalid configuration; `problems` are pairs of a dotted key path and a message."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {problem}" if path else problem for path, problem in problems))
        self.problems = problems


class SandboxConfig(Frozen):
    """Limits of a worker that runs custom code or reads raw data."""

    timeout_ms: Annotated[StrictInt, Field(ge=1, le=600_000)] = 5_000
    """Time of one run, after which it is killed; by default 120,000 for `statistics` and 60,000 for `tests`."""
    memory_limit_mb: Annotated[StrictInt, Field(ge=16, le=16_384)] = 256
    """Memory of one run; by default 1,024 for `statistics` and `tests`."""


DATA_SANDBOX = SandboxConfig(timeout_ms=120_000, memory_limit_mb=1_024)
"""Default limits of workers that read raw data (`extractors.statistics.sandbox`): enough for files of 100 MB."""
TEST_SANDBOX = SandboxConfig(timeout_ms=60_000, memory_limit_mb=1_024)
"""Default limits of hidden tests (`extractors.tests.sandbox`): what a work may set for one test."""
_DEFAULT_SANDBOXES = {"statistics": DATA_SANDBOX, "tests": TEST_SANDBOX}
LEAST_READING_MB = 256
"""Minimum of `memory_limit_mb` for these workers."""


class ExtractorConfig(Frozen):
    """Section below `extractors`, which configures one extractor."""

    enabled: StrictBool = True
    """False removes the extractor and its metrics."""
    class_: Annotated[str, Field(min_length=1, max_length=300)] | None = Field(default=None, alias="class")
    """Name of a built-in class, a class path (`package.module:Class`), or the name of an entry point."""
    config: dict[str, Any] = {}
    """Keyword arguments of the extractor's constructor."""
    sandbox: SandboxConfig = SandboxConfig()
    """Limits of code that is not the platform's own, and of workers that read raw data."""


class VerifierConfig(Frozen):
    """Section below `verifiers`, which configures one verifier; works name it in `verification.verifier`.

    The short form is the path alone: `summary_check: my_package.verifiers:verify_summary`.
    """

    enabled: StrictBool = True
    """False removes the verifier of this name, even if an installed package offers it."""
    path: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    """Path of the callable (`package.module:function`) or name of an entry point; by default the section's name."""
    output_type: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    """Path of the output's type; by default the annotation of the verifier's first parameter."""
    timeout_ms: Annotated[StrictInt, Field(ge=1, le=600_000)] = 30_000
    """Milliseconds after which the verifier is killed, which is a system error and not the agent's fault."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, raw: Any) -> Any:
        if isinstance(raw, str):
            return {"path": raw}
        if not isinstance(raw, Mapping | VerifierConfig):
            message = "expected a path (package.module:function), or a mapping of {keys}"
            raise PydanticCustomError("verifier", message, {"keys": ", ".join(cls.model_fields)})
        return raw


class VerificationConfig(Frozen):
    """Section `verification`. Its switches may be off only offline and on the embedded backend."""

    governance_check: StrictBool = True
    """False makes outcomes final without asking governance."""
    store_outcomes: StrictBool = True
    """False keeps no result, final result and metadata in outcome records."""
    max_criteria_per_task: Annotated[StrictInt, Field(ge=1, le=100)] = MAX_CRITERIA
    """Criteria that one work may have."""


class CachingConfig(Frozen):
    """Section `caching`, with the caches of a process."""

    extractor_results_ttl: Annotated[StrictInt, Field(ge=0, le=86_400)] = 300
    """Seconds for which an extractor's results on the same candidate are reused; 0 disables the cache."""


class OutcomeConfig(Frozen):
    """Complete configuration file. Every section has a default, so that an empty file is valid."""

    extractors: dict[str, ExtractorConfig] = {}
    """Section of an extractor → its settings; a built-in one needs no section."""
    verifiers: dict[Identifier, VerifierConfig] = {}
    """Name of a verifier → its settings, or its path alone."""
    verification: VerificationConfig = VerificationConfig()
    """Switches and bounds of verification."""
    caching: CachingConfig = CachingConfig()
    """Caches of a process."""

    def extractor_sections(self) -> dict[str, ExtractorConfig]:
        """Return the section of every extractor by name, the built-in ones first, with all defaults."""
        sections = {name: ExtractorConfig() for name in BUILT_IN} | self.extractors
        for name, default in _DEFAULT_SANDBOXES.items():
            section = sections[name]
            is_set = "sandbox" in section.model_fields_set
            configured = section.sandbox.model_dump(exclude_unset=True) if is_set else {}
            sections[name] = section.model_copy(update={"sandbox": default.model_copy(update=configured)})
        return sections

    def as_json(self) -> dict[str, Any]:
        """Return the configuration as JSON values without defaults; `parse_config` reads it back."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def parse_config(raw: Any) -> OutcomeConfig:
    """Validate a configuration from parsed YAML or JSON; None gives the defaults.

    Raises `InvalidConfig` with the path of each invalid key.
    """
    if raw is None:
        return OutcomeConfig()
    if not isinstance(raw, Mapping):
        raise InvalidConfig([("", "expected a mapping of extractors, verifiers, verification and caching")])
    try:
        config = OutcomeConfig.model_validate(raw)
    except ValidationError as error:
        found = [(".".join(str(key) for key in each["loc"] if key != "[key]"), each) for each in error.errors()]
        raise InvalidConfig([(path, message_of(each, OutcomeConfig)) for path, each in found]) from None
    problems = [
        (f"extractors.{name}.class", "required: this is no built-in extractor")
        for name, section in config.extractors.items()
        if section.class_ is None and name not in BUILT_IN
    ]
    if config.extractor_sections()["statistics"].sandbox.memory_limit_mb < LEAST_READING_MB:
        path = "extractors.statistics.sandbox.memory_limit_mb"
        problems.append((path, f"at least {LEAST_READING_MB}: with less, workers die of data that are not too large"))
    if problems:
        raise InvalidConfig(problems)
    return config


def load_config(path: Path | None) -> OutcomeConfig:
    """Read a configuration file; None gives the defaults.

    Raises `InvalidConfig` for an invalid file, and `OSError` for an unreadable one.
    """
    if path is None:
        return OutcomeConfig()
    import yaml  # noqa: PLC0415 needed where there is a file

    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidConfig([(str(path), f"not YAML: {error}")]) from None
    return parse_config(raw)
