"""A consumer publishes a work."""


import structlog

_log = structlog.get_logger(__name__)
