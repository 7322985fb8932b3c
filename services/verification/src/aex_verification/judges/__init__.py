"""Peer reviewers of scientific claims: language models behind OpenAI-compatible servers."""
