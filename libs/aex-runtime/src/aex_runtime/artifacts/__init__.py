"""Files that callers upload and download: kept by digest, recorded for each who uploaded them."""
