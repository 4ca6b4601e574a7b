"""A parser is used for a second document."""

from contextlib import suppress
from xml.etree.ElementTree import XMLPullParser

parser = XMLPullParser(["end"])
parser.feed("<a/>")
parser.close()
with suppress(ValueError):
    parser.feed("<b/>")  # violation
