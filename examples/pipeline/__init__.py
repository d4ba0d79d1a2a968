"""A pipeline of programs: each step is a subprocess, and the pipeline goes on wherever a kill met it."""
