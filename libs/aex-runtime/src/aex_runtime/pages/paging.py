"""Links from one page of a list to the next."""

from urllib.parse import urlencode

from fastapi import Request


def same_query(request: Request) -> str:
    """The query as it came, without its place in the list: a cursor serves the very query that it was sealed for."""
    return urlencode([each for each in request.query_params.multi_items() if each[0] not in {"cursor", "limit"}])
