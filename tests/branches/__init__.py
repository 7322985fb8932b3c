"""Whether the tests of the pure parts take every branch of them: `python -m tests.branches`."""
