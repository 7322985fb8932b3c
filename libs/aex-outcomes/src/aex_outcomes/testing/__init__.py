"""Hidden tests of an agent's program, each run by a tester process and a candidate process."""
