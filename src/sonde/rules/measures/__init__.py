"""Quantities shared by several rules: data waits, contention, streaks, predictions and others."""
