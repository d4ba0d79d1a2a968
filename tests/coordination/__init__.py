"""Coordination: one contract suite for both adapters, and what only Redis can suffer."""
