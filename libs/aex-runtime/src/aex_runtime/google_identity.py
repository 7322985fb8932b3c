"""How Google's ID tokens tell services apart: who issues them, for whom they are, and the accounts that they name."""

GOOGLE_ISS = "https://accounts.google.com"
"""The issuer as service accounts' tokens have it. Google also writes `accounts.google.com`, in tokens of people who
sign in: those name no service, and one spelling is enough to be compared exactly."""
GOOGLE_JWKS = "https://www.googleapis.com/oauth2/v3/certs"
METADATA_HOST = "metadata.google.internal"
SERVICE_ACCOUNT = r"[a-z0-9][a-z0-9-]*@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.gserviceaccount\.com"
"""The e-mail address of a service account, whose domain is Google's own: nobody else can have one verified there. To be
matched as ASCII."""
AUDIENCE_PREFIX = "aex:"
"""Google issues for any audience that is asked for, to every account, and others' systems read such tokens too.
`governance` could be somebody else's word, and a token that one of our accounts gave to them would be good here."""


def google_audience(service: str) -> str:
    """What `aud` says in a token of Google's for a service."""
    return AUDIENCE_PREFIX + service
