"""The store adapters: MongoDB through one driver module, and one in memory that passes the same contract suite."""
