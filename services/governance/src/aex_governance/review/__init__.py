"""Pages on which operators read holds and decide on them, over the handlers of the API."""

from aex_governance.review.routes import review_routes

__all__ = ["review_routes"]
