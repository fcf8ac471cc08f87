"""Arithmetic on arrays: no files, no clock, no drawing."""
