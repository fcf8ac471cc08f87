"""Hostile end-to-end tests with seeds and counts; pytest runs a small share of them."""
