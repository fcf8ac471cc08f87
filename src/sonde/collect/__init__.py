"""Measures a job, beside it or inside it, and writes what it measured. Never reads it back."""
