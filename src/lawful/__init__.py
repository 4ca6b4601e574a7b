"""Lawful watches programs run and checks what they do against laws."""

__version__ = "0.1.0"
