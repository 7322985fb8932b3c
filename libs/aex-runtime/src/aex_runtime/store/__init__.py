"""Record stores: one port, and backends on SQLite, on Firestore and in memory."""
