"""The parts of `make load`: many parties at once against the real suite, from processes of their own."""
