"""Buckets of Cloud Storage, opened through obstore: their URLs, credentials and time limits."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from obstore.store import GCSStore

_BUCKET = re.compile(r"(?=.{3,222}$)[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?)*")
_FOLDER = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_FORM = "gs://bucket[/prefix]"

_LAST_TRY = timedelta(seconds=15)
"""Time in which obstore retries a request; obstore's default is three minutes.

With the last request it is within the deadline of a call of `ObjectBlobs`.
"""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket, and the prefix of all its blobs (empty: none)."""

    name: str
    prefix: str


def parse_bucket_url(url: str) -> Bucket:
    """Parse `gs://bucket` or `gs://bucket/some/prefix`. Raises `ValueError` for invalid names."""
    name, slash, prefix = url.removeprefix("gs://").partition("/")
    if name == url or _BUCKET.fullmatch(name) is None or name.startswith("goog"):
        raise ValueError(f"{url!r} names no bucket: {_FORM}, 3 to 63 of a-z, 0-9, -, _ and .")
    folders = prefix.removesuffix("/").split("/") if prefix else []
    if (slash and not prefix) or all(map(_FOLDER.fullmatch, folders)):
        return Bucket(name, "/".join(folders))
    raise ValueError(f"{url!r}: a prefix has folders of A-Z, a-z, 0-9, -, _ and .: {_FORM}")


def bucket_opener(bucket: Bucket, emulator: str | None) -> Callable[[], GCSStore]:
    """Return a function that opens the bucket. Raises `ValueError` for an invalid `emulator`.

    It uses the credentials that obstore finds: those in its variables, the application default ones or those of the
    machine. `emulator` is the URL of an emulator, which needs none.
    """
    if emulator is not None and urlsplit(emulator).scheme not in {"http", "https"}:
        raise ValueError(f"STORAGE_EMULATOR_HOST: {emulator!r} is no http or https URL")

    # The key of an account without tokens: obstore's `skip_signature` affects reads only.
    account = {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    key = emulator and json.dumps({"gcs_base_url": emulator.rstrip("/"), **account})

    def connect() -> GCSStore:
        return GCSStore(
            bucket.name,
            prefix=bucket.prefix or None,
            config={"service_account_key": key} if key else {},
            client_options={
                "connect_timeout": timedelta(seconds=2),
                "timeout": timedelta(seconds=10),
                "allow_http": emulator is not None,
            },
            retry_config={
                "max_retries": 3,
                "retry_timeout": _LAST_TRY,
                "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=2)},
            },
        )

    return connect
