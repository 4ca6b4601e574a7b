"""OCD: temporal rules that nobody wrote, learned while a program runs, and enforced at once."""
