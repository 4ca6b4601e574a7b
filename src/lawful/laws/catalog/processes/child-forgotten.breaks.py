"""A process is started and forgotten."""

import subprocess
import sys
import warnings

warnings.simplefilter("ignore", ResourceWarning)


def work() -> None:
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(0.3)"])  # violation


work()
