"""The services, as they are, on stores that note what kinds of queries they are asked."""
