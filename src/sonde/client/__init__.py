"""The public `Job` class, and jobs that a script starts itself."""
