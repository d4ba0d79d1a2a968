"""Perdure server: engine."""
