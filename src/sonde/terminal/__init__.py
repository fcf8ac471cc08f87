"""Jobs in a terminal: what commands print, and the live view."""
