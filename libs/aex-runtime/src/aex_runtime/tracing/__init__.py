"""Spans, recorded if `AEX_TRACES_URL` is set and exported without text of callers."""
