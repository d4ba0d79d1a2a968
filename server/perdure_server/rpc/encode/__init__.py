"""From the kernel's values to the wire: the only place that fills answers."""
