"""Spans: recorded if `AEX_TRACES_URL` is set, exported without callers' text."""
