"""The name of a temporary folder is kept, and the folder is not."""

import os
import tempfile
import warnings

warnings.simplefilter("ignore", ResourceWarning)


def folder() -> str:
    return tempfile.TemporaryDirectory().name  # violation


assert not os.path.exists(folder())
