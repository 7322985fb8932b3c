"""An installed extractor that never returns for some candidates and never awaits."""

from collections.abc import Mapping
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.thresholds import MetricType

METRIC = "vowels"
TRAP = "never"


class VowelExtractor:
    """Counts vowels; a text with `never` in it is counted for ever."""

    version = "1"

    async def extract(
        self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]
    ) -> Mapping[str, float]:
        del task_input, metadata
        text = str(task_output["text"])
        while TRAP in text:
            pass
        return {METRIC: sum(text.count(vowel) for vowel in "aeiou")}

    def supported_metrics(self) -> list[str]:
        return [METRIC]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        return (MetricEntry(name=METRIC, unit="items", range=(0, None), metric_types=(MetricType.COUNT,)),)
