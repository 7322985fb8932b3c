"""The operators' page: held outcomes, why they are held, and the decision. Over the same handlers as the API."""

from aex_governance.review.routes import review_routes

__all__ = ["review_routes"]
