"""Questions to a store: what was recorded, of a job that ended or one that still grows."""
