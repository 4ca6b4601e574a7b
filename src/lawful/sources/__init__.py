"""Where events come from: programs being watched."""
