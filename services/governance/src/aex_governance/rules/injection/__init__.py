"""How a candidate may address its reviewer: in words, in planted verdicts, in characters that nobody sees."""
