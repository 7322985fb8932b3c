"""A plain route with the models of `POST /v1/work`: `python -m tests.benchmarks.bare_work`."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from fastapi import FastAPI

from aex_models.work import Work, WorkStatus, WorkSubmission
from aex_runtime.store.port import Collection, Store, Transaction
from tests.benchmarks.bare_app import create_app, run_app

WORKS = Collection("works")


def add_route(app: FastAPI, store: Store) -> None:
    """Add a route that commits a work durably and returns it."""

    @app.post("/v1/work", status_code=201)
    async def post_work(body: WorkSubmission) -> Work:
        fields: dict[str, Any] = {name: getattr(body, name) for name in WorkSubmission.model_fields}
        work = Work(
            **fields, work_id=uuid4().hex, consumer_id="acme", status=WorkStatus.OPEN, created_at=datetime.now(UTC)
        )

        async def write(transaction: Transaction) -> None:
            transaction.create(WORKS, work.work_id, work.model_dump_json().encode(), {})

        await store.transact(write)
        return work


if __name__ == "__main__":
    app, store = create_app()
    add_route(app, store)
    run_app(app)
