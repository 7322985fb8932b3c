"""Tokens that no service may take, each made from one that all would."""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_key import LOCAL_ISS, LocalKey, load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from tests.libs.runtime.identity.issuing import Signer, base64url, part


@dataclass(frozen=True, slots=True)
class Forger:
    """Keys and tokens of an attacker: public key, other keys, a partner's key, good tokens to alter.

    `own` signs as the installation does, to make the tokens that are altered.
    """

    own: LocalKey
    partner: Signer
    partner_iss: str
    elsewhere: Path

    def claims(self, **changes: Any) -> dict[str, Any]:
        """The claims of a good token; a change to None leaves a claim out."""
        now = int(WallClock().now().timestamp())
        times = {"iat": now, "exp": now + 600}
        complete = {"iss": LOCAL_ISS, "sub": "acme", "aud": list(SERVICES), "role": "consumer", **times, **changes}
        return {name: value for name, value in complete.items() if value is not None}

    def signed(self, **changes: Any) -> str:
        """Signed by the installation's own key: as good as its claims are."""
        return jwt.encode(self.claims(**changes), self.own.private, "EdDSA", headers={"kid": self.own.kid})

    def foreign(self, headers: Mapping[str, Any] | None = None, **changes: Any) -> str:
        """Signed by another key."""
        head = {"kid": self.own.kid, **(headers or {})}
        return jwt.encode(self.claims(**changes), Ed25519PrivateKey.generate(), "EdDSA", headers=head)

    def with_own_key(self) -> str:
        """Signed by another key, which the header offers for the check."""
        key = Ed25519PrivateKey.generate()
        offered = {"kty": "OKP", "crv": "Ed25519", "x": base64url(key.public_key().public_bytes_raw())}
        return jwt.encode(self.claims(), key, "EdDSA", headers={"kid": self.own.kid, "jwk": offered})

    def by_hand(self, sign: Callable[[bytes], bytes], claims: Mapping[str, Any] | None = None, **headers: Any) -> str:
        head = part({"alg": "EdDSA", "typ": "JWT", "kid": self.own.kid, **headers})
        signed = f"{head}.{part(claims or self.claims())}"
        return f"{signed}.{base64url(sign(signed.encode()))}"

    def hashed(self, key: bytes, algorithm: str = "HS256") -> str:
        """Signed by a symmetric key."""
        claims = self.claims(role="finance")
        return self.by_hand(lambda signed: hmac.new(key, signed, hashlib.sha256).digest(), claims, alg=algorithm)

    def tampered(self, **changes: Any) -> str:
        head, _, signature = self.signed().split(".")
        return f"{head}.{part(self.claims(**changes))}.{signature}"

    def of_another_installation(self) -> str:
        """Return what `aex token` prints on another data directory."""
        issuer = LocalIssuer(load_or_create_key(self.elsewhere), WallClock(), RandomIds())
        return issuer.mint("acme", Audience.CONSUMER)

    def of_partner(self, **changes: Any) -> str:
        """Signed by a partner that may grant nothing but `agent`."""
        return self.partner.sign(**{**self.claims(), "iss": self.partner_iss, **changes})


def _unsigned(_: bytes) -> bytes:
    return b""


def forgeries(forger: Forger) -> dict[str, str]:
    public = forger.own.private.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    raw = public.public_bytes_raw()
    now = int(WallClock().now().timestamp())
    good = forger.signed()
    return {
        **{f"algorithm {each}": forger.by_hand(_unsigned, alg=each) for each in ("none", "None", "nOnE", "")},
        "HS256 with the public key's PEM": forger.hashed(pem),
        "HS256 with the public key's bytes": forger.hashed(raw),
        "HS256 with the public key's text": forger.hashed(base64url(raw).encode()),
        "HS256 said to be EdDSA": forger.hashed(raw, "EdDSA"),
        "for another audience": forger.signed(aud=["billing"]),
        "for a service with a longer name": forger.signed(aud=[f"{each}-2" for each in SERVICES]),
        "for no audience": forger.signed(aud=None),
        "for an empty list": forger.signed(aud=[]),
        "another issuer": forger.signed(iss="https://elsewhere.example"),
        "the issuer in capitals": forger.signed(iss=LOCAL_ISS.upper()),
        "no issuer": forger.signed(iss=None),
        "expired": forger.signed(iat=now - 7_200, exp=now - 3_600),
        "without an end": forger.signed(exp=None),
        "with an end that is no moment": forger.signed(exp=1e300),
        "not valid yet": forger.signed(nbf=now + 3_600),
        "issued tomorrow": forger.signed(iat=now + 86_400, exp=now + 90_000),
        "role tampered with": forger.tampered(role="finance"),
        "sub tampered with": forger.tampered(sub="another-principal"),
        "no sub": forger.signed(sub=None),
        "an empty sub": forger.signed(sub=""),
        "a sub that is no name": forger.signed(sub="acme\n{}"),
        "no role": forger.signed(role=None),
        "an unknown role": forger.signed(role="admin"),
        "several roles": forger.signed(role=["consumer", "finance"]),
        "a foreign key": forger.foreign(),
        "a foreign key in the header": forger.with_own_key(),
        "a foreign key at an address": forger.foreign({"jku": "https://elsewhere.example/jwks.json"}),
        "a key id that is a path": forger.foreign({"kid": "../../../../dev/null"}),
        "a key id that is no text": forger.by_hand(forger.own.private.sign, kid=["k1"]),
        "an extension that must be understood": forger.by_hand(forger.own.private.sign, crit=["b64"], b64=False),
        "another installation": forger.of_another_installation(),
        "a role that the partner may not grant": forger.of_partner(role="finance"),
        "the partner's key for our issuer": forger.of_partner(iss=LOCAL_ISS, role="agent"),
        "our key for the partner's issuer": forger.signed(iss=forger.partner_iss, role="agent"),
        "cut short": good[:-8],
        "without a signature": good.rpartition(".")[0],
        "with an empty signature": f"{good.rpartition('.')[0]}.",
        "a fourth part": f"{good}.e30",
        "too long": forger.signed(padding="x" * 9_000),
        "no token": "not-a-token",
    }
