"""Google's own emulators of Firestore and Pub/Sub: found on this machine, started, paused, stopped."""
