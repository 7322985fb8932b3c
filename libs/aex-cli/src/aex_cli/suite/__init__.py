"""The embedded suite: four services as four processes under one supervisor."""
