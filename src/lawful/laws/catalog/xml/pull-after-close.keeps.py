"""Each document has its parser; events are read after the end."""

from xml.etree.ElementTree import XMLPullParser

for text in ("<a/>", "<b/>"):
    parser = XMLPullParser(["end"])
    parser.feed(text[:2])
    parser.feed(text[2:])
    parser.close()
    assert len(list(parser.read_events())) == 1
