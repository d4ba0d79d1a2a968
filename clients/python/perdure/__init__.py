"""Perdure: durable workflows."""
