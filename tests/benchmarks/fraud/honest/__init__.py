"""Honest work: for each kind a file with the ways in which it is done. None of it deserves a flag."""
