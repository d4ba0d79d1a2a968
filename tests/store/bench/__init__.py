"""Measures the store."""
