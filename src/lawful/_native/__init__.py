"""The C core: compiled where a C compiler is found; lawful.core decides whether it is used."""
