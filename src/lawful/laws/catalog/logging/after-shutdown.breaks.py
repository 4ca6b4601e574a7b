"""Something is logged after the end of logging."""

import logging

logging.basicConfig(handlers=[logging.NullHandler()])
logging.warning("one")
logging.shutdown()
logging.warning("two")  # violation
