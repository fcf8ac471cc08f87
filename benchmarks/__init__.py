"""Benchmarks of overhead and speed, one file each. Run all: `python -m benchmarks`."""
