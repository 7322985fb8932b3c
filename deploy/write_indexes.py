"""Generator of `firestore.indexes.json` from the collections: `python -m deploy.write_indexes`."""

import json
from pathlib import Path

from aex_governance import repository as governance
from aex_runtime.background import platform_collections
from aex_runtime.store.firestore_indexes import build_index_file
from aex_runtime.store.port import Collection
from aex_settlement import repository as settlement
from aex_verification import repository as verification
from aex_work_publisher import repository as work_publisher

FILE = Path(__file__).with_name("firestore.indexes.json")
OWN = {
    "work-publisher": work_publisher.COLLECTIONS,
    "verification": verification.COLLECTIONS,
    "governance": governance.COLLECTIONS,
    "settlement": settlement.COLLECTIONS,
}


def list_collections() -> tuple[Collection, ...]:
    """Return every collection of every service."""
    return tuple(collection for service, own in OWN.items() for collection in (*own, *platform_collections(service)))


def build_file_text() -> str:
    """Return the text of `firestore.indexes.json`."""
    return json.dumps(build_index_file(list_collections()), indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(build_file_text())
