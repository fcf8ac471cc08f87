"""Eyes: the terminal and files for other programs."""
