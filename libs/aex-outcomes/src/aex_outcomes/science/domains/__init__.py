"""What scientific domains say of their values: one YAML file each, in this folder and in one that is configured."""
