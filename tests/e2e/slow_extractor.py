"""An installed extractor that is slow for some candidates: it uses the processor and never awaits."""

import time
from collections.abc import Mapping
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.thresholds import MetricType

METRIC = "letters"
SLOW = "slowly"
SECONDS = 1.5
"""Processor time for a text with `slowly` in it."""


class LetterExtractor:
    """Counts letters."""

    version = "1"

    async def extract(
        self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]
    ) -> Mapping[str, float]:
        del task_input, metadata
        text = str(task_output["text"])
        end = time.process_time() + SECONDS
        while SLOW in text and time.process_time() < end:
            pass
        return {METRIC: sum(each.isalpha() for each in text)}

    def supported_metrics(self) -> list[str]:
        return [METRIC]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        return (MetricEntry(name=METRIC, unit="items", range=(0, None), metric_types=(MetricType.COUNT,)),)
