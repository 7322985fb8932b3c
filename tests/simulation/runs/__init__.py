"""Plans of runs, what came of them, many at once, and the smallest plan of what broke."""
