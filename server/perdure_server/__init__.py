"""Perdure: a durable workflow service. docs/architecture.md is the map."""
