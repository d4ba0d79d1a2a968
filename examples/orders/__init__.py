"""Orders of a shop: a late worker never overwrites newer data, what failed is undone, and no start is lost."""
