"""Perdure server: rpc."""
