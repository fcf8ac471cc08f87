"""A job's dashboard as one HTML file: recorded replies of the API inside the built page."""
