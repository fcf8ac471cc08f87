"""The report: a self-contained page about a job that also works without scripts and in print."""
