"""Probes that try to break Sonde: `python -m tests.torture`; a small share runs in `make test`."""
