"""Handlers are removed before they are closed; the file that was closed is opened by a new handler."""

import logging
import os
import tempfile

log = logging.getLogger("shop")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "shop.log")
    for text in ("one", "two"):
        handler = logging.FileHandler(path)
        log.addHandler(handler)
        log.warning(text)
        log.removeHandler(handler)
        handler.close()
        handler.close()
        log.addHandler(logging.NullHandler())
        log.warning("nobody hears this")
    with open(path) as file:
        assert file.read() == "one\ntwo\n"
