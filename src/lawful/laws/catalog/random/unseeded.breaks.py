"""Numbers are drawn without a seed."""

import random

assert random.random() < 1  # violation
random.seed()
assert random.randrange(10) < 10  # violation
