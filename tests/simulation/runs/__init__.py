"""Plans of runs, their results, runs in several processes, and shrinking of failing plans."""
