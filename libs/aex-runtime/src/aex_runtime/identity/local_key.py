"""The platform's signing key: created once in the data directory, or provided as a file."""

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
from aex_runtime.files import publish_once, replace_file

LOCAL_ISS = "aex-local"
_PRIVATE, _PUBLIC = "local-issuer.pem", "local-issuer.jwks.json"


class UnsafeKey(Exception):
    """Unusable key file: readable by others, or not an Ed25519 key."""


@dataclass(frozen=True, slots=True)
class LocalKey:
    """Ed25519 key with its id, the thumbprint of RFC 7638."""

    private: Ed25519PrivateKey
    kid: str

    def jwk(self) -> dict[str, Any]:
        """Return the public half as a JSON Web Key."""
        return _public_jwk(self.private) | {"kid": self.kid, "alg": "EdDSA", "use": "sig"}

    def derive_secret(self, purpose: str) -> bytes:
        """Return 32 bytes for another purpose, equal in every process that shares the key."""
        seed = self.private.private_bytes_raw()
        return hashlib.blake2b(purpose.encode(), key=seed, digest_size=32, person=b"aex-derive").digest()


def local_key(data_dir: Path) -> LocalKey:
    """Return the key in `data_dir/keys`, which one process creates when it is missing.

    Raises `UnsafeKey` when others can read it.
    """
    folder = data_dir / "keys"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / _PRIVATE
    if not path.exists():
        pem, pkcs8, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        publish_once(path, Ed25519PrivateKey.generate().private_bytes(pem, pkcs8, plain), mode=0o600)
    key = _load(path)
    public = folder / _PUBLIC
    if not public.exists():
        replace_file(public, json.dumps({"keys": [key.jwk()]}, indent=2).encode(), mode=0o644)
    return key


def configured_key(path: Path) -> LocalKey:
    """Return the key in a file, such as a mounted secret. Raises `UnsafeKey`.

    A file of this user must be closed to others. The mode of another user's file is not checked, as in OpenSSH.
    Cloud Run mounts secrets for root, and a container of another user can only read what all users can.
    """
    try:
        return _load(path, checks_foreign_files=False)
    except OSError as error:
        raise UnsafeKey(f"{path} cannot be read: {error.strerror}") from error


def _load(path: Path, *, checks_foreign_files: bool = True) -> LocalKey:
    with path.open("rb") as file:
        stat = os.fstat(file.fileno())
        if stat.st_mode & 0o077 and (checks_foreign_files or stat.st_uid == os.geteuid()):
            raise UnsafeKey(f"{path} can be read by others: chmod 600 {path}")
        pem = file.read()
    try:
        private = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:  # TypeError: it is encrypted
        raise UnsafeKey(f"{path} holds no Ed25519 key") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise UnsafeKey(f"{path} holds no Ed25519 key")
    thumbprint = hashlib.sha256(canonical_bytes(_public_jwk(private))).digest()
    return LocalKey(private, _base64url(thumbprint))


def _public_jwk(private: Ed25519PrivateKey) -> dict[str, Any]:
    return {"kty": "OKP", "crv": "Ed25519", "x": _base64url(private.public_key().public_bytes_raw())}


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
