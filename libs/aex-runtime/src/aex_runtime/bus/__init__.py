"""Event buses: one port, and backends on SQLite files, on Pub/Sub and in memory."""
