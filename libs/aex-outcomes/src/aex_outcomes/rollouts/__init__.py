"""Rollouts: their canonical score, and what of their figures the steps bear out (spec file 4, "Rollout scoring")."""
