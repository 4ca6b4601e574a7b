"""Tokens for those who may look at a run."""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode


def new_token() -> str:
    """A token that nobody can guess, of 32 characters."""
    # The module `secrets` does the same, and takes longer to import than all else that a dashboard needs here.
    return urlsafe_b64encode(os.urandom(24)).decode()
