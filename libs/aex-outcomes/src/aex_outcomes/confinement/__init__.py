"""Confined workers: one killable pool runs everything that burns CPU or touches hostile data."""
