"""A bare route with the model of `POST /v1/work`: `python -m tests.benchmarks.publishing.bare`."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from fastapi import FastAPI

from aex_models.work import Work, WorkStatus, WorkSubmission
from aex_runtime.store.port import Collection, Store, Transaction
from tests.benchmarks.bare import create_app, given_store, serve

WORKS = Collection("works")


def add_route(app: FastAPI, store: Store) -> None:
    """Take a work in, commit it durably, answer it."""

    @app.post("/v1/work", status_code=201)
    async def post_work(body: WorkSubmission) -> Work:
        work = _published(body)

        async def write(transaction: Transaction) -> None:
            transaction.create(WORKS, work.work_id, work.model_dump_json().encode(), {})

        await store.transact(write)
        return work


def _published(body: WorkSubmission) -> Work:
    given: dict[str, Any] = {name: getattr(body, name) for name in WorkSubmission.model_fields}
    made = {"work_id": uuid4().hex, "consumer_id": "acme", "status": WorkStatus.OPEN, "created_at": datetime.now(UTC)}
    return Work(**given, **made)


if __name__ == "__main__":
    store = given_store()
    app = create_app(store)
    add_route(app, store)
    serve(app)
