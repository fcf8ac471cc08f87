"""Quantities that state checks share: replicas, intervals, layer uses, sample marks."""
