"""Rules that find what makes training slow, and predict the gain of each remedy."""
