"""Analyses and charts of system metrics, steps and profiles."""
