"""`outcome-verification.yaml`: extractors and verifiers, how they are set, and what verification does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from aex_models.criteria import MAX_CRITERIA
from aex_models.frozen import Frozen, Identifier, StrictBool, StrictInt

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
"""The sections that need no `class`, and the class that each stands for."""


class InvalidConfig(ValueError):
    """A configuration that cannot be used; `problems` are pairs of a dotted path and what is wrong there."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {problem}" if path else problem for path, problem in problems))
        self.problems = problems


class SandboxConfig(Frozen):
    """Limits of code that is not the platform's own."""

    timeout_ms: Annotated[StrictInt, Field(ge=1, le=600_000)] = 5_000
    memory_limit_mb: Annotated[StrictInt, Field(ge=16, le=16_384)] = 256


READING_DATA = SandboxConfig(timeout_ms=120_000, memory_limit_mb=1_024)
"""Of workers that read raw data (`extractors.statistics.sandbox`): five million rows, of a file of 100 MB."""
LEAST_READING_MB = 256


class ExtractorConfig(Frozen):
    """One section below `extractors`."""

    enabled: StrictBool = True
    class_: Annotated[str, Field(min_length=1, max_length=300)] | None = Field(default=None, alias="class")
    """The bare name of a built-in class, a class path (`package.module:Class`), or the name of an entry point."""
    config: dict[str, Any] = {}
    """The extractor's own settings: its keyword arguments."""
    sandbox: SandboxConfig = SandboxConfig()


class VerifierConfig(Frozen):
    """One section below `verifiers`, under the name that works give in `verification.verifier`.

    The short form is the path alone: `summary_check: my_package.verifiers:verify_summary`.
    """

    enabled: StrictBool = True
    """False: there is no verifier of this name here, also where an installed package offers one."""
    path: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    """Of the callable (`package.module:function`), or the name of an entry point; unset: the one of the same name."""
    output_type: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    """Path of the output's type; unset: the annotation of the verifier's first parameter."""
    timeout_ms: Annotated[StrictInt, Field(ge=1, le=600_000)] = 30_000
    """After this time the verifier is killed: a system error, never the agent's fault."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, raw: Any) -> Any:
        if isinstance(raw, str):
            return {"path": raw}
        if not isinstance(raw, Mapping | VerifierConfig):
            raise PydanticCustomError(
                "verifier", "expected a path (package.module:function), or a mapping of {keys}", {"keys": _KEYS}
            )
        return raw


_KEYS = ", ".join(VerifierConfig.model_fields)


class VerificationConfig(Frozen):
    """What verification does besides judging. The two switches can be off offline and embedded alone."""

    governance_check: StrictBool = True
    store_outcomes: StrictBool = True
    max_criteria_per_task: Annotated[StrictInt, Field(ge=1, le=100)] = MAX_CRITERIA


class CachingConfig(Frozen):
    """What is remembered in the process."""

    extractor_results_ttl: Annotated[StrictInt, Field(ge=0, le=86_400)] = 300
    """Seconds; 0 remembers nothing."""


class OutcomeConfig(Frozen):
    """The whole file. Every section has a default: an empty file is a valid one."""

    extractors: dict[str, ExtractorConfig] = {}
    verifiers: dict[Identifier, VerifierConfig] = {}
    verification: VerificationConfig = VerificationConfig()
    caching: CachingConfig = CachingConfig()

    def sections(self) -> dict[str, ExtractorConfig]:
        """Every extractor's section: the built-in ones unless said otherwise, then the others."""
        sections = {name: ExtractorConfig() for name in BUILT_IN} | self.extractors
        statistics = sections["statistics"]
        said = statistics.sandbox.model_dump(exclude_unset=True) if "sandbox" in statistics.model_fields_set else {}
        sections["statistics"] = statistics.model_copy(update={"sandbox": READING_DATA.model_copy(update=said)})
        return sections

    def as_json(self) -> dict[str, Any]:
        """The configuration as a mapping that `parse_config` takes: the form in which workers are given it."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def parse_config(raw: Any) -> OutcomeConfig:
    """The configuration of a mapping (None: all defaults). Raises `InvalidConfig`, naming each bad key's path."""
    if raw is None:
        return OutcomeConfig()
    if not isinstance(raw, Mapping):
        raise InvalidConfig([("", "expected a mapping of extractors, verifiers, verification and caching")])
    try:
        config = OutcomeConfig.model_validate(raw)
    except ValidationError as error:
        raise InvalidConfig([_explained(each) for each in error.errors()]) from None
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
    """Read and check a file; without one, all defaults. Raises `InvalidConfig`; `OSError` where it cannot be read."""
    if path is None:
        return OutcomeConfig()
    import yaml  # noqa: PLC0415 needed where there is a file

    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidConfig([(str(path), f"not YAML: {error}")]) from None
    return parse_config(raw)


def _explained(error: Any) -> tuple[str, str]:
    path = ".".join(str(segment) for segment in error["loc"] if segment != "[key]")
    return path, "unknown key" if error["type"] == "extra_forbidden" else error["msg"]
