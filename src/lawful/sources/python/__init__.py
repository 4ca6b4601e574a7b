"""Events of a running Python program: which code is watched, by which core, and what it reports."""
