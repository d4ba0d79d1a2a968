"""The client libraries: one table of languages, and the same verbs for all of them."""
