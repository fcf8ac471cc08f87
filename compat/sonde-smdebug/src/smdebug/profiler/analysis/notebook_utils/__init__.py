"""Charts for notebooks."""
