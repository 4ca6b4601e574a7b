"""A parser is closed, and used for another document; one was never fed."""

from html.parser import HTMLParser


class Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


parser = Text()
parser.feed("<p>one</p>")
parser.feed("two & three")
parser.close()
assert "".join(parser.parts) == "onetwo & three"
parser.reset()
parser.feed("four")
parser.close()
parser = Text()
del parser
