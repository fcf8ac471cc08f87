"""The report: one page about a job that stands alone, with and without scripts, and on paper."""
