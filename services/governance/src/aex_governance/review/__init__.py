"""HTML pages on which operators read held outcomes and decide on them.

They call the same handlers as the API.
"""

from aex_governance.review.routes import review_routes

__all__ = ["review_routes"]
