"""Google's emulators of Firestore and Pub/Sub: tests find, start, pause and stop them here."""
