"""Options are set as text, read as numbers, and without a value where that is allowed."""

import configparser

config = configparser.ConfigParser(allow_no_value=True)
config["server"] = {"port": str(80)}
config.set("server", "host", "localhost")
config["server"]["debug"] = None
config.read_dict({"client": {"port": 8080}})
assert config.getint("client", "port") + config["server"].getint("port") == 8160
raw = configparser.RawConfigParser()
raw.add_section("a")
raw.set("a", "number", 1)
