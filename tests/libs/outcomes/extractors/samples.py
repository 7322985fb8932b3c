"""Extractors of other people, good and bad."""

from collections.abc import Mapping
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.thresholds import MetricType
from aex_outcomes.extractors.protocol import MetricExtractor


class Sample:
    metrics: tuple[str, ...] = ("shouting",)
    value: Any = 0.5
    range: tuple[float | None, float | None] = (None, None)
    types = (MetricType.NUMERIC, MetricType.PERCENTAGE, MetricType.BOOLEAN, MetricType.CUSTOM, MetricType.COUNT)

    def __init__(self, **settings: Any) -> None:
        for name, setting in settings.items():
            if not hasattr(self, name):
                raise TypeError(f"unknown setting {name}")
            setattr(self, name, setting)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Any:  # noqa: ARG002
        return dict.fromkeys(self.metrics, self.value)

    def supported_metrics(self) -> list[str]:
        return list(self.metrics)

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        return tuple(
            MetricEntry(name=name, unit="fraction", range=self.range, metric_types=self.types) for name in self.metrics
        )


class Failing(Sample):
    metrics = ("broken",)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Any:  # noqa: ARG002
        raise RuntimeError(f"cannot handle {task_input}")


class Meddling(Sample):
    metrics = ("meddled",)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Any:
        assert isinstance(task_input, dict)
        assert isinstance(metadata, dict)
        task_output["text"] = "rewritten"
        task_input["reference"] = "rewritten"
        metadata["duration_ms"] = 0
        return {"meddled": 1, "latency_ms": 0, "output_length": 10**6}


class Wordy(Sample):
    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Any:  # noqa: ARG002
        return "0.5"


class Undescribed(Sample):
    def supported_metrics(self) -> list[str]:
        return ["shouting", "whispering"]


class NoExtractor:
    """Lacks everything."""


class Bare:
    def __init__(self, names: Any = ("plain", "simple"), value: Any = 0.5) -> None:
        self.names = names
        self.value = value

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Any:  # noqa: ARG002
        return dict.fromkeys(self.names, self.value)

    def supported_metrics(self) -> Any:
        return self.names


class Derived(MetricExtractor):
    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Any:  # noqa: ARG002
        return {"derived": 0.5}

    def supported_metrics(self) -> list[str]:
        return ["derived"]


class Silent(Bare):
    def catalog_entries(self) -> None:
        return None


class Raising(Bare):
    def supported_metrics(self) -> Any:
        raise RuntimeError("the model is not there")


class Awaited(Bare):
    async def supported_metrics(self) -> Any:
        return self.names


class RaisingEntries(Bare):
    def catalog_entries(self) -> Any:
        return (MetricEntry(name="a b", unit="", metric_types=()),)


class InvalidEntries(Bare):
    def catalog_entries(self) -> Any:
        return ["plain"]
