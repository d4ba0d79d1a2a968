"""The coordination adapters: Redis and in-process, behind one contract suite."""
