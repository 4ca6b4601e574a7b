"""HTML pages with style, script and data inside; their content security policy lets only their own script run."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import msgspec

from lawful.diagnostics import all_encodable

_HERE = os.path.dirname(os.path.abspath(__file__))
# These characters could end a script element or begin a comment; JSON can escape them.
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def page(
    template: str, *, style: str, scripts: Sequence[str], data: Any, values: Mapping[str, Any], images: bool = False
) -> str:
    """A template's page, with files of `static` as its style and scripts, and data that the scripts read.

    With `images`, it may show pictures that it carries itself.
    """
    loader = jinja2.FileSystemLoader(os.path.join(_HERE, "templates"))
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    look, code = static(style), "\n".join(map(static, scripts))
    policy = f"default-src 'none'; style-src '{_digest(look)}'; script-src '{_digest(code)}'; base-uri 'none'"
    policy += "; img-src data:" if images else ""
    return environment.get_template(template).render(
        {**values, "style": look, "script": code, "policy": policy, "data": embedded(data)}
    )


def embedded(data: Any) -> str:
    """JSON that can stand inside a script element."""
    try:
        encoded = msgspec.json.encode(data)
    except UnicodeEncodeError:  # a surrogate; these are rare, and looking for them takes a while
        encoded = msgspec.json.encode(all_encodable(data))
    return encoded.decode().translate(_ESCAPES)


def static(name: str) -> str:
    """The text of a file that pages carry."""
    with open(os.path.join(_HERE, "static", name), encoding="utf-8") as file:
        return file.read()


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
