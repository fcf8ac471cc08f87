"""The dashboard as a process: its socket, its token, and the page that opens it."""
