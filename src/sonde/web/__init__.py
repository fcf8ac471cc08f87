"""The dashboard's web server: an HTTP API for the jobs of a store, and the built page."""
