"""Groups of options that several commands take, and how they change the settings."""
