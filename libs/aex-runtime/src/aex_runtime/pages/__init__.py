"""HTML pages of a service: sign-in, sessions, forms, errors and static files (extra `pages`)."""
