"""What Sonde costs, measured: one file per promise, all of them with `python -m benchmarks`."""
