"""What a service stands on: store, bus, blobs, outbox, timers, leases, dead letters, HTTP kit."""
