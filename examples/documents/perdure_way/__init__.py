"""The same job on Perdure: a definition, two workers, and whoever hands the documents in. Nothing here knows that anything is killed."""
