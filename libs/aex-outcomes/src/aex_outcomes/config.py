"""The configuration in `outcome-verification.yaml`: extractors, verifiers, verification and caching."""

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
    "contains": "ContainsExtractor",
    "custom": "CustomExtractor",
    "statistics": "StatisticsExtractor",
    "science": "ScienceExtractor",
    "rollout": "RolloutExtractor",
}
"""The sections without a `class`, each with its class."""


class InvalidConfig(ValueError):
    """An invalid configuration; `problems` are pairs of a dotted path and a message."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {problem}" if path else problem for path, problem in problems))
        self.problems = problems


class SandboxConfig(Frozen):
    """The limits of code that is not the platform's own."""

    timeout_ms: Annotated[StrictInt, Field(ge=1, le=600_000)] = 5_000
    """Time of one run, after which it is killed; read by `custom` and, with 120,000 as default, by `statistics`."""
    memory_limit_mb: Annotated[StrictInt, Field(ge=16, le=16_384)] = 256
    """Memory of one run; read by `custom` and, with 1,024 as default, by `statistics`."""


DATA_SANDBOX = SandboxConfig(timeout_ms=120_000, memory_limit_mb=1_024)
"""The limits of workers that read raw data (`extractors.statistics.sandbox`): a file of 100 MB."""
LEAST_READING_MB = 256


class ExtractorConfig(Frozen):
    """A section below `extractors`."""

    enabled: StrictBool = True
    """False removes the extractor and its metrics."""
    class_: Annotated[str, Field(min_length=1, max_length=300)] | None = Field(default=None, alias="class")
    """The bare name of a built-in class, a class path (`package.module:Class`), or the name of an entry point."""
    config: dict[str, Any] = {}
    """The extractor's keyword arguments."""
    sandbox: SandboxConfig = SandboxConfig()
    """Limits of code that is not the platform's own, and of workers that read raw data."""


class VerifierConfig(Frozen):
    """A section below `verifiers`, under the name that works give in `verification.verifier`.

    The short form is the path alone: `summary_check: my_package.verifiers:verify_summary`.
    """

    enabled: StrictBool = True
    """False removes the verifier of this name, also one of an installed package."""
    path: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    """The path of the callable (`package.module:function`), or an entry point; default: the one of this name."""
    output_type: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    """The path of the output's type; default: the annotation of the verifier's first parameter."""
    timeout_ms: Annotated[StrictInt, Field(ge=1, le=600_000)] = 30_000
    """The time after which the verifier is killed: a system error, never the agent's fault."""

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
    """The switches and bounds of verification. Both switches can be off offline and embedded alone."""

    governance_check: StrictBool = True
    """False makes outcomes final without asking governance."""
    store_outcomes: StrictBool = True
    """False keeps no result, final result and metadata in outcome records."""
    max_criteria_per_task: Annotated[StrictInt, Field(ge=1, le=100)] = MAX_CRITERIA
    """Criteria that one work may have."""


class CachingConfig(Frozen):
    """The caches of a process."""

    extractor_results_ttl: Annotated[StrictInt, Field(ge=0, le=86_400)] = 300
    """Seconds for which an extractor's results on the same candidate are reused; 0 disables the cache."""


class OutcomeConfig(Frozen):
    """The complete file. Every section has a default: an empty file is valid."""

    extractors: dict[str, ExtractorConfig] = {}
    """Section of an extractor → its settings; a built-in one needs no section."""
    verifiers: dict[Identifier, VerifierConfig] = {}
    """Name of a verifier → its settings, or its path alone."""
    verification: VerificationConfig = VerificationConfig()
    """Switches and bounds of verification."""
    caching: CachingConfig = CachingConfig()
    """Caches of a process."""

    def sections(self) -> dict[str, ExtractorConfig]:
        """Return every extractor's section, the built-in ones first."""
        sections = {name: ExtractorConfig() for name in BUILT_IN} | self.extractors
        statistics = sections["statistics"]
        is_set = "sandbox" in statistics.model_fields_set
        configured = statistics.sandbox.model_dump(exclude_unset=True) if is_set else {}
        sections["statistics"] = statistics.model_copy(update={"sandbox": DATA_SANDBOX.model_copy(update=configured)})
        return sections

    def as_json(self) -> dict[str, Any]:
        """Return a mapping for `parse_config`: the form that workers get."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def parse_config(raw: Any) -> OutcomeConfig:
    """Parse a mapping (None: all defaults). Raises `InvalidConfig` with each bad key's path."""
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
    if config.sections()["statistics"].sandbox.memory_limit_mb < LEAST_READING_MB:
        path = "extractors.statistics.sandbox.memory_limit_mb"
        problems.append((path, f"at least {LEAST_READING_MB}: with less, workers die of data that are not too large"))
    if problems:
        raise InvalidConfig(problems)
    return config


def load_config(path: Path | None) -> OutcomeConfig:
    """Load a file (None: all defaults). Raises `InvalidConfig`, and `OSError` for an unreadable file."""
    if path is None:
        return OutcomeConfig()
    import yaml  # noqa: PLC0415 needed where there is a file

    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidConfig([(str(path), f"not YAML: {error}")]) from None
    return parse_config(raw)
