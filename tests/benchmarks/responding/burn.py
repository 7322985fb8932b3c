"""The same verification in a process that no service waits for: `python -m tests.benchmarks.responding.burn FILE`.

FILE holds the body of a `POST /v1/verify`. Goes on until killed.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_outcomes import VerificationEngine


async def burn(body: dict[str, Any]) -> None:
    """Judge one candidate again and again, as a worker would: the results of none are remembered."""
    engine = VerificationEngine({"caching": {"extractor_results_ttl": 0}})
    criteria = SuccessCriteria.model_validate(body["success_criteria"])
    while True:
        await engine.verify(
            contract_id="ctr_1",
            work_input={},
            evaluation=body["evaluation"],
            work_output=body["output"],
            success_criteria=criteria,
            execution_metadata={},
        )


if __name__ == "__main__":
    asyncio.run(burn(json.loads(Path(sys.argv[1]).read_text())))
