"""Decisions of work-publisher as pure functions: records, transitions of status, visibility."""
