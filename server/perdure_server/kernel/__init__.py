"""The rules, pure: (definition, instance, command, now) -> (instance', effects) or a typed rejection. No clock, no I/O, no randomness."""
