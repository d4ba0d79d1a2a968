"""Perdure server: telemetry."""
