"""Hypothesis on a busy machine: no example has a deadline, and a failure prints how to repeat it."""

from hypothesis import settings

settings.register_profile("perdure", deadline=None, print_blob=True)
settings.load_profile("perdure")
