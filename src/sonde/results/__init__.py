"""Results of queries about a job: tables and series that print, convert and plot."""
