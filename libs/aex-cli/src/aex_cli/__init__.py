"""The aex command: run the suite, watch the demo, mint tokens, replay dead letters; services add their own commands."""
