"""Decisions of settlement as pure functions: postings, refusals, groups, audits."""
