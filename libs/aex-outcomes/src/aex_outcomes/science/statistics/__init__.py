"""Each statistic over a table that was read: SQL for what rows say, exact arithmetic for what comes of it."""
