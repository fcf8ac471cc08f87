"""Decoding of trace files (Kineto, Chrome) into operations."""
