"""The end of a document is forgotten."""

from html.parser import HTMLParser


class Text(HTMLParser):
    text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


def text(page: str) -> str:
    parser = Text()
    parser.feed(page)  # violation
    return parser.text


assert text("<p>one</p>two &am") != "onetwo &am"
