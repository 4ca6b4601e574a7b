"""Temporary folders are cleaned up by `with`, by hand and by an ExitStack; one lives as long as the program."""

import contextlib
import sys
import tempfile

with tempfile.TemporaryDirectory():
    pass
folder = tempfile.TemporaryDirectory()
folder.cleanup()
del folder
with contextlib.ExitStack() as stack:
    stack.enter_context(tempfile.TemporaryDirectory())
if sys.version_info >= (3, 12):
    import shutil

    lasting = tempfile.TemporaryDirectory(delete=False)
    name = lasting.name
    del lasting
    shutil.rmtree(name)
forever = tempfile.TemporaryDirectory()
