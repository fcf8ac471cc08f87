"""Hands: one file per command, named after it."""
