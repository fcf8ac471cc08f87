"""What the numbers inside training did: one file per rule."""
