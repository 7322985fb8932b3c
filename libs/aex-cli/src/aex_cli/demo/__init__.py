"""The demo that `aex demo` runs: four works from publication to settlement."""
