"""``python -m lawful``: the same as the command ``lawful``."""

import sys

from lawful.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
