"""Run rules over the windows of a job, record their findings and trigger actions."""
