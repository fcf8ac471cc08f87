"""What the machine did: one file per rule."""
