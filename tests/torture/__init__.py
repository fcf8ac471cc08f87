"""Hostile tests of the whole, seeded and countable; pytest runs a small share of them."""
