"""Holds: made from `outcome.held`, read by operators, decided once by one of them."""

from aex_governance.handlers.holds.decide import decide_hold
from aex_governance.handlers.holds.open import open_hold
from aex_governance.handlers.holds.read import get_hold, list_holds

__all__ = ["decide_hold", "get_hold", "list_holds", "open_hold"]
