"""Random science sections, uploads and references to uploaded files."""

import random
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from aex_runtime.artifacts import Uploads
from aex_runtime.identity.principals import Principal
from tests.simulation.actions.requests import retry_until_answered

if TYPE_CHECKING:
    from tests.simulation.services import Service
    from tests.simulation.world import World

CLAIM = "fitness"
TRUE, ABSURD = 0.5, 70.5
"""Claims of agents; the second is out of every range."""


async def upload_file(world: "World", service: "Service", uploads: Uploads, owner: Principal) -> str | None:
    """Upload a new or known file and return its digest; None where it is refused."""
    content = f"mutant,score\nA1C,{world.dice.randint(0, 3)}\n".encode()

    async def pieces() -> AsyncIterator[bytes]:
        yield content

    taken = await retry_until_answered(world, service, None, lambda key: uploads.save_stream(owner, pieces(), key))
    return taken[1].digest if taken else None


def random_science(dice: random.Random, digest: str | None) -> dict[str, Any]:
    """Return a random science section, with the consumer's own data where there are any."""
    return {
        "question": "How fit?",
        "expected_outcome": "about a half",
        "output_constraints": {CLAIM: {"min": 0, "max": 1}},
        "checks": ["value_ranges", *dice.choice([[], ["peer_review"]])],
        "data": [{"name": "scores.csv", "sha256": digest}] if digest else [],
    }


def make_file_reference(digest: str) -> dict[str, Any]:
    """Return an artifact that refers to an uploaded file by its digest."""
    return {"name": "own.csv", "media_type": "text/csv", "sha256": digest}
