"""The names of verification's timers."""

DEADLINE = "deadline"
"""Subject: the contract. Its time is over."""
VERIFY = "verify"
"""Subject: the attempt; payload: `contract_id`. Verify it (again): a retry, or a worker that was lost."""
CONCLUDE = "conclude"
"""Subject: the contract. Ask governance about the attempt that the outcome rests on."""
