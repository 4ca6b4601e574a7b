"""Groups of a running Python program as a source of events: who sends what to whom."""
