"""Terminal output of commands, and the live view."""
