"""Perdure's tests: real stores, no sleeping, no mocks; CONTRIBUTING.md says where each kind goes."""
