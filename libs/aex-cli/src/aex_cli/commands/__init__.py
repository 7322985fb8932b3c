"""The commands of aex-cli itself, one file each."""
