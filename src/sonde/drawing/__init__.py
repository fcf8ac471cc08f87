"""Rendering of chart specs as SVG, HTML, PNG and text, independent of jobs."""
