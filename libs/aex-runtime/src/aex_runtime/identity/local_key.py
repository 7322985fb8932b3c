"""The platform's own signing key: made once in the data directory, or a file that all replicas are given."""

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aex_models.canonical import canonical_bytes
from aex_runtime.data_dir import publish_once, replace_file

LOCAL_ISS = "aex-local"
_PRIVATE, _PUBLIC = "local-issuer.pem", "local-issuer.jwks.json"


class UnsafeKey(Exception):
    """The key file can be read by others, or holds something else."""


@dataclass(frozen=True, slots=True)
class LocalKey:
    """An Ed25519 key with its id (the RFC 7638 thumbprint)."""

    private: Ed25519PrivateKey
    kid: str

    def jwk(self) -> dict[str, Any]:
        """The public half as a JSON Web Key."""
        return _public_jwk(self.private) | {"kid": self.kid, "alg": "EdDSA", "use": "sig"}

    def secret_for(self, purpose: str) -> bytes:
        """32 bytes for another purpose, the same in every process that shares the key."""
        seed = self.private.private_bytes_raw()
        return hashlib.blake2b(purpose.encode(), key=seed, digest_size=32, person=b"aex-derive").digest()


def local_key(data_dir: Path) -> LocalKey:
    """The key in `data_dir/keys`, made where there is none; of processes that start together, one makes it.

    Raises `UnsafeKey` where others could read it.
    """
    folder = data_dir / "keys"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / _PRIVATE
    if not path.exists():
        publish_once(path, _new_pem(), mode=0o600)
    key = _load(path)
    public = folder / _PUBLIC
    if not public.exists():
        replace_file(public, json.dumps({"keys": [key.jwk()]}, indent=2).encode(), mode=0o644)
    return key


def given_key(path: Path) -> LocalKey:
    """The key in a file that somebody provides (a mounted secret). Raises `UnsafeKey` where it cannot be used.

    A file of this user's own must be closed to all others. One that belongs to another user is as whoever provides it
    made it, and OpenSSH does not judge that either: Cloud Run mounts secrets for root, and a container that runs as
    somebody else can only read what everybody may.
    """
    try:
        return _load(path, strangers_too=True)
    except OSError as error:
        raise UnsafeKey(f"{path} cannot be read: {error.strerror}") from error


def _new_pem() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _load(path: Path, *, strangers_too: bool = False) -> LocalKey:
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        if found.st_mode & 0o077 and not (strangers_too and found.st_uid != os.geteuid()):
            raise UnsafeKey(f"{path} can be read by others: chmod 600 {path}")
        pem = file.read()
    try:
        private = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:  # TypeError: it is encrypted
        raise UnsafeKey(f"{path} holds no Ed25519 key") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise UnsafeKey(f"{path} holds no Ed25519 key")
    return LocalKey(private, _thumbprint(private))


def _public_jwk(private: Ed25519PrivateKey) -> dict[str, Any]:
    return {"kty": "OKP", "crv": "Ed25519", "x": _base64url(private.public_key().public_bytes_raw())}


def _thumbprint(private: Ed25519PrivateKey) -> str:
    return _base64url(hashlib.sha256(canonical_bytes(_public_jwk(private))).digest())


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
