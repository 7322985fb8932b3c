"""The demo that `aex demo` runs: three works from publication to settlement."""
