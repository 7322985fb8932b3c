"""The embedded suite: the four services as processes of one supervisor."""
