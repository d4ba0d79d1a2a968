"""Seeded simulation: whole servers, workers and callers in one event loop, on a store and a coordination that fail as real ones do."""
