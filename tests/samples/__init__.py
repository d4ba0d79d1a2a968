"""The samples of examples/, each run on real parts."""
