"""Bounds of telemetry. Durations in ms."""

from typing import Final

SPANS_WAITING: Final = 8_192  # above it spans are dropped and counted: telemetry never slows work down (case C86)
SPANS_PER_EXPORT: Final = 512
EXPORT_INTERVAL: Final = 1_000
EXPORT_TIMEOUT: Final = 5_000
FLUSH_TIMEOUT: Final = 1_000  # a stop waits this long for the last spans, also when the collector is silent
DROP_REPORT_INTERVAL: Final = 60_000
FAILURE_TEXT: Final = 1_024
