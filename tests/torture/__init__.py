"""Randomized end-to-end tests of failures, with seeds; pytest runs a small share of them."""
