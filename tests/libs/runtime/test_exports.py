from collections.abc import AsyncGenerator, Sequence

import pytest
import structlog
from structlog.testing import capture_logs

from aex_models.audiences import Audience
from aex_runtime.exports import PIECE_BYTES, ExportFile, merge_party_filters_unless_foreign, stream_export
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.identity.principals import Principal

READER = Principal("acme", Audience.CONSUMER)


def encode(page: Sequence[str]) -> tuple[bytes, int]:
    return "".join(page).encode(), len(page)


async def pages_of(*pages: Sequence[str]) -> AsyncGenerator[Sequence[str], None]:
    for page in pages:
        yield page


def export(head: bytes, *pages: Sequence[str]) -> AsyncGenerator[bytes, None]:
    limiter = ConcurrencyLimiter(1, 1, "exports", "exports_busy")
    file = ExportFile(pages_of(*pages), encode, "csv", head)
    return stream_export(structlog.get_logger(), "rows_exported", file, limiter, READER, sees_all=False)


@pytest.mark.parametrize(
    ("pages", "content", "rows"),
    [([], b"head", 0), ([["a", "b"], ["c"]], b"headabc", 3), ([["a" * PIECE_BYTES]], b"head" + b"a" * PIECE_BYTES, 1)],
)
async def test_head_precedes_the_rows_in_bounded_pieces(pages: list[list[str]], content: bytes, rows: int) -> None:
    with capture_logs() as logs:
        pieces = [piece async for piece in export(b"head", *pages)]
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= PIECE_BYTES
    assert [(line["event"], line["rows"]) for line in logs] == [("rows_exported", rows)]


@pytest.mark.parametrize(
    ("own", "requested", "combined"),
    [
        ({}, {"agent_id": None, "consumer_id": None}, {}),
        ({}, {"agent_id": "bot", "consumer_id": "acme"}, {"agent_id": "bot", "consumer_id": "acme"}),
        ({"consumer_id": "acme"}, {"agent_id": "bot", "consumer_id": None}, {"consumer_id": "acme", "agent_id": "bot"}),
        ({"consumer_id": "acme"}, {"agent_id": None, "consumer_id": "globex"}, None),
    ],
)
def test_reader_narrows_its_own_rows_alone(
    own: dict[str, str], requested: dict[str, str | None], combined: dict[str, str] | None
) -> None:
    assert merge_party_filters_unless_foreign(own, requested) == combined
