"""From the wire to the kernel's values: the only place that reads requests. Every fault is named at once, before any effect."""
