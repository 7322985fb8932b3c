"""Hostile files of raw data, read into one table of a locked database."""
