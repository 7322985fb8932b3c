"""Use cases: contracts and candidates, checks of works, verification without a contract.

A command loads, decides, and commits records, events and timers in one transaction.
"""
