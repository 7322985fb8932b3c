"""Use cases on contracts.

A command loads, decides, and commits records, events and timers in one transaction.
"""
