"""Fraud: for each rule a file with the ways in which its example breaks it."""
