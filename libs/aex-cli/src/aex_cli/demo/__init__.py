"""`aex demo`: the main job on real text and data, step by step."""
