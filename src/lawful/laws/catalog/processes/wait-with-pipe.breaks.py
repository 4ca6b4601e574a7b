"""A child is waited for, and its pipe is read when it has ended."""

import subprocess
import sys

process = subprocess.Popen([sys.executable, "-S", "-c", "print(1)"], stdout=subprocess.PIPE)
process.wait()  # violation
assert process.communicate()[0].strip() == b"1"
