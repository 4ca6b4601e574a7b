"""A handler is closed and stays where it is."""

import logging
import os
import tempfile

log = logging.getLogger("shop")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "shop.log")
    handler = logging.FileHandler(path, mode="w")
    log.addHandler(handler)
    log.warning("one")
    handler.close()
    log.warning("two")  # violation
    with open(path) as file:
        assert file.read() == "one\n"
