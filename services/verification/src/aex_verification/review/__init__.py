"""Peer review by a language model. Off unless `AEX_REVIEW_MODEL` is set; what it needs is imported only then."""
