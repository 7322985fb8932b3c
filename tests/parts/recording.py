"""A store that records the shapes of its queries, for which Firestore would need indexes."""

import json
from dataclasses import asdict
from pathlib import Path

from aex_runtime.store.port import Document, Query, Store
from tests.parts.passing import ForwardingStore
from tests.parts.query_shapes import Shape, get_shape


class RecordingStore(ForwardingStore):
    """A store that records each shape of a query once, in `shapes` and in a file.

    Several processes may share the file.
    """

    def __init__(self, store: Store, shapes: set[Shape], file: Path | None = None) -> None:
        super().__init__(store)
        self._shapes, self._file = shapes, file

    async def query_page(self, query: Query) -> list[Document]:
        shape = get_shape(query)
        if shape not in self._shapes:
            self._shapes.add(shape)
            if self._file is not None:
                with self._file.open("a") as lines:
                    lines.write(json.dumps(asdict(shape)) + "\n")
        return await self._store.query_page(query)


def read_shapes(file: Path) -> set[Shape]:
    if not file.exists():
        return set()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return {Shape(**{**line, "equal": tuple(line["equal"])}) for line in lines}
