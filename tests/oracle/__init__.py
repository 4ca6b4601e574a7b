"""Independent oracles: slow, literal readings of a language's rules, which the engines are compared with."""
