"""Shared data types: frozen dataclasses and enums without behavior."""
