"""Logging is shut down last, or begun anew with other handlers."""

import logging

logging.basicConfig(handlers=[logging.NullHandler()])
logging.warning("one")
logging.shutdown()
logging.basicConfig(handlers=[logging.NullHandler()], force=True)
logging.warning("two")
logging.shutdown()
logging.shutdown()
