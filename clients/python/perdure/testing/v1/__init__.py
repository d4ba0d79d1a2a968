"""Generated messages and services of the package `perdure.testing.v1`; written by `tools/gen.py`, never by hand."""
