"""Who reads what: finance everything, a consumer or an agent its own (spec file 6, "Reading")."""

from aex_models.audiences import Audience
from aex_models.settlement import Settlement
from aex_runtime.identity.principal import Principal
from aex_settlement.rules.accounts import is_account

READERS = (Audience.FINANCE, Audience.CONSUMER, Audience.AGENT)
_OWN = {Audience.CONSUMER: "consumer", Audience.AGENT: "agent"}


def own_dimension(principal: Principal) -> dict[str, str]:
    """What a reader's rollups have in common: nothing for finance, the reader itself for anybody else."""
    return {} if principal.role is Audience.FINANCE else {_OWN[principal.role]: principal.id}


def own_filter(principal: Principal) -> dict[str, str]:
    """What a reader's settlements have in common: nothing for finance, its own id for anybody else."""
    return {f"{name}_id": value for name, value in own_dimension(principal).items()}


def may_read_settlement(principal: Principal, settlement: Settlement) -> bool:
    """Whether the settlement is the reader's own, or the reader finance."""
    return all(getattr(settlement, name) == value for name, value in own_filter(principal).items())


def may_read_account(principal: Principal, account: str) -> bool:
    """Whether the ledger knows the account, and it is the reader's own or the reader finance."""
    own = f"{principal.role.value}:{principal.id}"
    return is_account(account) and (principal.role is Audience.FINANCE or account == own)
