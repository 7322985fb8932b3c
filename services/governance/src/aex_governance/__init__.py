"""Fraud rules, holds and decisions."""
