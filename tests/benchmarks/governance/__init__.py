"""The parts of `make bench-governance`: a history drawn at random, made in bulk, and asked beside a small one."""
