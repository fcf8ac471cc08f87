"""How steps went: one file per rule."""
