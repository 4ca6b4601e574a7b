"""The errors a user can meet: each has a slug, says what is wrong, where, and what to do."""

from __future__ import annotations


class LawfulError(Exception):
    """Bad usage or bad input. The command line prints it as ``error[slug]: message`` and exits with 2."""

    def __init__(self, slug: str, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.slug = slug
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.__dict__.copy(), self.args)

    def render(self) -> str:
        """The whole text for a terminal, without a trailing newline."""
        place = f"{self.where}: " if self.where else ""
        lines = [f"error[{self.slug}]: {place}{self.message}"]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


def _rebuild(kind: type[LawfulError], state: dict[str, object], args: tuple[object, ...]) -> LawfulError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class TraceError(LawfulError):
    """A trace that cannot be read or written; slugs begin with ``trace-``."""


class LawError(LawfulError):
    """A law that cannot be compiled; slugs begin with the law language's name, as in ``rml-``."""
