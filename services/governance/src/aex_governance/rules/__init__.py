"""Fraud rules, one per module: pure functions of a validation request and its history."""
