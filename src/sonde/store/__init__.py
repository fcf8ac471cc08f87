"""Store records as bytes: formats, paths and backends."""
