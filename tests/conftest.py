"""What all tests share: the Hypothesis profiles."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# `ci` gives the same answer on the same code, whatever the machine's speed; the others look for what it misses.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, print_blob=True)
settings.register_profile("thorough", settings.get_profile("explore"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
