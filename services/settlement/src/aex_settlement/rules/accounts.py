"""The names of the ledger's accounts, and whose they are."""

import re

FEES = "platform:fees"
CASH = "platform:cash"
_NAME = re.compile(r"platform:(fees|cash)|(consumer|agent):[A-Za-z0-9._:@/+-]{1,128}", re.ASCII)


def consumer_account(consumer_id: str) -> str:
    """What a consumer owes (debit) or has paid in (credit)."""
    return f"consumer:{consumer_id}"


def agent_account(agent_id: str) -> str:
    """What the platform owes an agent (credit)."""
    return f"agent:{agent_id}"


def is_account(name: str) -> bool:
    """Whether the ledger knows accounts of this name: `consumer:{id}`, `agent:{id}` or one of the platform's two."""
    return _NAME.fullmatch(name) is not None


def has_address(name: str) -> bool:
    """Whether the account can be asked for: one that ends in `/entries` is taken for another one's entries."""
    return not name.endswith("/entries")


def is_consumer_account(name: str) -> bool:
    """Whether the account belongs to a consumer."""
    return is_account(name) and name.startswith("consumer:")
