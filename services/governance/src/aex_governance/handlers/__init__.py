"""Use cases of the service: validation of attempts, holds, agents' profiles, and rebuilds."""
