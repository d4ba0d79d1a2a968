"""The conformance driver of the Python client; its protocol is tests/conformance/README.md."""
