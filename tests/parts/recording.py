"""A store that notes what kinds of queries it was asked: what Firestore would need indexes for."""

import json
from dataclasses import asdict
from pathlib import Path

from aex_runtime.store.port import Document, Query, Store
from tests.parts.passing import PassingStore
from tests.parts.query_shapes import Shape, shape_of


class RecordingStore(PassingStore):
    """Store that notes each shape of a query once, in `shapes` and in a file that processes may share."""

    def __init__(self, store: Store, shapes: set[Shape], file: Path | None = None) -> None:
        super().__init__(store)
        self._shapes, self._file = shapes, file

    async def query(self, query: Query) -> list[Document]:
        shape = shape_of(query)
        if shape not in self._shapes:
            self._shapes.add(shape)
            if self._file is not None:
                with self._file.open("a") as lines:
                    lines.write(json.dumps(asdict(shape)) + "\n")
        return await self._store.query(query)


def read_shapes(file: Path) -> set[Shape]:
    if not file.exists():
        return set()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return {Shape(**{**line, "equal": tuple(line["equal"])}) for line in lines}
