"""The parts of an audit of the ledger: what is sealed, what waits, what is shown of settlements, what is projected."""
