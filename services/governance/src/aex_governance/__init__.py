"""Governance service: fraud rules, held outcomes and the decisions of operators."""
