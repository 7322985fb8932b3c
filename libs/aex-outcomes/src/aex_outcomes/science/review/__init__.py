"""Peer review: the port of a reviewer, and what a reviewer is asked."""
