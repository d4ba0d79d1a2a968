"""Generated messages and services of the package `perdure.v1`; written by `tools/gen.py`, never by hand."""
