"""Pipes are read before or while the child is waited for; a child without pipes is just waited for."""

import subprocess
import sys

command = [sys.executable, "-S", "-c", "print(1)"]
process = subprocess.Popen(command, stdout=subprocess.PIPE)
assert process.communicate()[0].strip() == b"1"
process.wait()
process = subprocess.Popen(command, stdout=subprocess.PIPE)
assert process.stdout is not None
with process.stdout:
    assert process.stdout.read().strip() == b"1"
process.wait()
with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
    process.communicate()
subprocess.Popen(command, stdout=subprocess.DEVNULL).wait()
