"""Quantities that several rules compare: data waits, contention, streaks, predictions."""
