"""Other programs' formats: one file per format."""
