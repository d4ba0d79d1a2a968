"""Hypothesis on a busy machine: no example has a deadline, and a failure prints how to repeat it."""

from hypothesis import settings

settings.register_profile("perdure", deadline=None, print_blob=True)
settings.register_profile("long", settings.get_profile("perdure"), max_examples=500)  # `make simulate`
settings.load_profile("perdure")
