"""Spans: recorded where `AEX_TRACES_URL` names a place for them, exported without what callers wrote."""
