"""Keys of documents, made from the ids of records."""

from aex_models.canonical import sha256_hex


def key_of(record_id: str) -> str:
    """A record's key: ids sort by time, and a hash in front keeps their writes from gathering in one range.

    An id may have slashes in it, a key may not; `%` is in no id.
    """
    return f"{sha256_hex(record_id.encode())[:4]}-{record_id.replace('/', '%2F')}"
