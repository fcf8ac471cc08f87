"""Helpers for analysis scripts."""
