"""Stands for the company's own clients: small, in memory, and slow enough that waiting for them makes sense."""
