"""Documents come in parts; each has its own parser."""

from xml.parsers.expat import ParserCreate

for text in ("<a/>", "<b/>"):
    names: list[str] = []
    parser = ParserCreate()
    parser.StartElementHandler = lambda name, _, names=names: names.append(name)
    parser.Parse(text[:2])
    parser.Parse(text[2:])
    parser.Parse("", True)
    assert names == [text[1]]
