"""Pages of a service: sign-in, sessions, forms, errors and assets. Needs the extra `pages`."""
