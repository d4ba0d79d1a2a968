"""Testing workflows without sleeping."""
