"""A bucket of Cloud Storage through obstore: where its URL leads, and how long it may be waited for."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from obstore.store import GCSStore

_BUCKET = re.compile(r"(?=.{3,222}$)[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?)*")
_FOLDER = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_RESERVED = "goog"
_FORM = "gs://bucket[/prefix]"

_CONNECT = timedelta(seconds=2)
_REQUEST = timedelta(seconds=10)
_RETRIES = 3
_LAST_TRY = timedelta(seconds=15)
"""With the request that begins just before it, within the deadline that `ObjectBlobs` gives a call. By itself obstore
would go on for three minutes."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket, and the prefix in it that all blobs lie below (empty: its root)."""

    name: str
    prefix: str


def bucket_of(url: str) -> Bucket:
    """`gs://bucket` or `gs://bucket/some/prefix`. Raises `ValueError` where Cloud Storage could have no such bucket."""
    name, slash, prefix = url.removeprefix("gs://").partition("/")
    if name == url or _BUCKET.fullmatch(name) is None or name.startswith(_RESERVED):
        raise ValueError(f"{url!r} names no bucket: {_FORM}, 3 to 63 of a-z, 0-9, -, _ and .")
    folders = prefix.removesuffix("/").split("/") if prefix else []
    if (slash and not prefix) or all(map(_FOLDER.fullmatch, folders)):
        return Bucket(name, "/".join(folders))
    raise ValueError(f"{url!r}: a prefix has folders of A-Z, a-z, 0-9, -, _ and .: {_FORM}")


def connection_to(bucket: Bucket, emulator: str | None) -> Callable[[], GCSStore]:
    """What opens the bucket: on Google with the credentials that obstore finds (its variables, the application default
    ones, the machine's own), on an emulator without any. `emulator` is its URL. Raises `ValueError` where it is none.

    It asks nobody for anything yet.
    """
    if emulator is not None and urlsplit(emulator).scheme not in {"http", "https"}:
        raise ValueError(f"STORAGE_EMULATOR_HOST: {emulator!r} is no http or https URL")

    def connect() -> GCSStore:
        return GCSStore(
            bucket.name,
            prefix=bucket.prefix or None,
            config={"service_account_key": _nobody(emulator)} if emulator else {},
            client_options={"connect_timeout": _CONNECT, "timeout": _REQUEST, "allow_http": emulator is not None},
            retry_config={
                "max_retries": _RETRIES,
                "retry_timeout": _LAST_TRY,
                "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=2)},
            },
        )

    return connect


def _nobody(emulator: str) -> str:
    """An account that needs no token: obstore's own switch for that, `skip_signature`, holds for reading alone."""
    return json.dumps(
        {
            "gcs_base_url": emulator.rstrip("/"),
            "disable_oauth": True,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        }
    )
