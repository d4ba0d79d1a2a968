"""The same small service twice, on Flask and on FastAPI: it starts workflows, shows them, streams their progress, and signals them."""
