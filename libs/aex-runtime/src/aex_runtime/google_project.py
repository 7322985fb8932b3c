"""How Google Cloud projects are called: one pattern for every URL that names one."""

PROJECT_ID = r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]"
"""6 to 30 letters, digits and hyphens, after the project's domain and a colon where it has one. To be matched as
ASCII."""
