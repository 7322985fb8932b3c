"""Generated requests that compare the services with their OpenAPI documents."""
