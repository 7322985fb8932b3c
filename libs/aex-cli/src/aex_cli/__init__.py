"""The aex command. Services add commands of their own."""
