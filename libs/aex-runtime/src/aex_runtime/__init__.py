"""The runtime of a service: store, bus, blobs, outbox, timers, leases, dead letters, HTTP kit."""
