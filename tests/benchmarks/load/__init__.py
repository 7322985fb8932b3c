"""The main job under load, driven by parties in processes of their own."""
