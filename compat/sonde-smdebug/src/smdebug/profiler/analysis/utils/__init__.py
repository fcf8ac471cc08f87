"""Data frames, statistics, merged timelines and data loading."""
