"""Numbers are set as they are."""

import configparser
from contextlib import suppress

config = configparser.ConfigParser()
config.add_section("server")
with suppress(TypeError):
    config.set("server", "port", 80)  # violation
with suppress(TypeError):
    config["server"]["port"] = 80  # violation
