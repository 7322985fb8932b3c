"""Finance dashboard: HTML pages over the handlers of the API, with the same visibility."""

from aex_settlement.dashboard.routes import dashboard_routes

__all__ = ["dashboard_routes"]
