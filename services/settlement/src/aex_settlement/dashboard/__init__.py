"""The finance dashboard: pages over the same handlers as the API, which show nothing that it would not."""

from aex_settlement.dashboard.routes import dashboard_routes

__all__ = ["dashboard_routes"]
