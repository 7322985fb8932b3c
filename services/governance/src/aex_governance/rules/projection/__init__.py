"""What is remembered, as pure data: the log's records, and the documents that are folded from them in any order."""
