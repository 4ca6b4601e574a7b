"""What all tests share: the Hypothesis profiles, and interrupts that arrive."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

# `ci` gives the same answer on the same code, whatever the machine's speed; the others look for what it misses.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, print_blob=True)
settings.register_profile("thorough", settings.get_profile("explore"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell starts jobs in the background deaf to Ctrl-C, and the programs that the tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
