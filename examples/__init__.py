"""Programs to run and read; each folder stands alone."""
