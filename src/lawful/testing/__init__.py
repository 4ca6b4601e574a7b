"""Lawful inside test runners."""
