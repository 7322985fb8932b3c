"""What Firestore's failures are to the callers of the port: an outage, or the fault of the request."""

from grpc import StatusCode
from grpc.aio import AioRpcError

from aex_runtime.store.firestore_wire import Database
from aex_runtime.store.port import StoreError, StoreUnavailable

WORTH_RETRYING = frozenset({StatusCode.UNAVAILABLE, StatusCode.INTERNAL, StatusCode.ABORTED})
"""Failures of a read that another try may not meet: what reads do not change they may do twice."""
CONDITION_FAILED = frozenset({StatusCode.ALREADY_EXISTS, StatusCode.FAILED_PRECONDITION, StatusCode.NOT_FOUND})
"""What a commit says whose conditions do not hold, among other things."""
_UNAVAILABLE = frozenset(
    {
        StatusCode.ABORTED,
        StatusCode.CANCELLED,  # by the other side: our own cancellation is no status
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.INTERNAL,
        StatusCode.RESOURCE_EXHAUSTED,
        StatusCode.UNAVAILABLE,
        StatusCode.UNKNOWN,
    }
)
# Outages too, which somebody must end: what the request is not to blame for, it waits for, and no event is given up on.
_FIXES = {
    StatusCode.FAILED_PRECONDITION: (
        "an index is missing or being built (deploy/firestore.indexes.json), or it is no Native database"
    ),
    StatusCode.NOT_FOUND: "there is no such database: create it, or correct the store's URL",
    StatusCode.PERMISSION_DENIED: "give the account of this process the role roles/datastore.user",
    StatusCode.UNAUTHENTICATED: "give this process credentials of a service account",
}


def translated(call: str, database: Database, error: AioRpcError) -> StoreError:
    """A failed call, in words that never tell what a document holds. Raise it `from None`, for the same reason.

    What Firestore says of a refused argument may quote the document, and is left out.
    """
    code = error.code()
    where = f"Firestore {database.path}: {call}: {code.name}"
    if code in _FIXES:
        return StoreUnavailable(f"{where}: {_FIXES[code]}: {error.details()}")
    if code in _UNAVAILABLE:
        return StoreUnavailable(f"{where}: {error.details()}")
    return StoreError(where)
