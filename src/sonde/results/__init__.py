"""What a query about a job returns: tables and series that print, convert and plot."""
