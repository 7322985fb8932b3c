"""What goes wrong on the command line."""


class UserError(Exception):
    """A mistake that the user can mend: what is wrong, and what to do about it. One line, never a traceback."""

    exit_code = 2

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.fix = message, fix

    def text(self) -> str:
        """The message and its fix as one line."""
        return " ".join((f"{self.message}; {self.fix}" if self.fix else self.message).split())


class Failed(UserError):
    """Nobody's mistake: the thing was tried and did not work. The message may hold the end of a log."""

    exit_code = 1

    def text(self) -> str:
        """The message as it is."""
        return self.message
