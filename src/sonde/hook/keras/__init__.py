"""Keras: its training loop on each of its backends, seen from inside."""
