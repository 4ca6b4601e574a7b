"""Servers: the dashboard of a run, and the oracle for programs in any language."""
