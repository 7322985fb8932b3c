"""Branch coverage of the pure packages by their own tests: `python -m tests.branches`."""
