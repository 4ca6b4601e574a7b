"""A parser is used for a second document."""

from contextlib import suppress
from xml.parsers.expat import ExpatError, ParserCreate

parser = ParserCreate()
parser.Parse("<a/>", True)
with suppress(ExpatError):
    parser.Parse("<b/>", True)  # violation
