"""Boosted trees: rounds, losses, evaluations and inspections, for the adapters of all libraries."""
