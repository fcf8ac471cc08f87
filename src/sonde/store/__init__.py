"""Bytes: formats, paths and backends. Knows nothing of what the records mean to people."""
