"""The embedded suite: four services as four processes, watched by one."""
