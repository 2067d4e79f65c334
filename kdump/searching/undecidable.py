"""What a condition raises where nobody can say whether it holds."""


class Undecidable(Exception):
    """A record of which cannot be said whether it matches; `code` and `message` say why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
