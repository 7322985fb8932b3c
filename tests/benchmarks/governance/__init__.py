"""The benchmark of governance with a long history: drawn, made in bulk, validated against, rebuilt."""
