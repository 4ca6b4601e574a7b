"""The source has a seed, or is the system's own."""

import random

assert random.SystemRandom().randrange(10) < 10
random.seed(1)
first = random.random(), random.choice("abc")
random.seed(1)
assert (random.random(), random.choice("abc")) == first
assert random.Random(2).sample(range(9), 3) == random.Random(2).sample(range(9), 3)
