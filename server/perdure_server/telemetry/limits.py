"""Bounds of telemetry. Durations in ms."""

from typing import Final

SPANS_WAITING: Final = 8_192  # above it spans are dropped and counted: telemetry never slows work down (case C86)
SPANS_PER_EXPORT: Final = 512
EXPORT_LINGER: Final = 100  # spans that come within it go out together; what a killed server loses is at most this old
EXPORT_TIMEOUT: Final = 5_000
FLUSH_TIMEOUT: Final = 1_000  # a stop waits this long for the last spans, also when the collector is silent
DROP_REPORT_INTERVAL: Final = 60_000

VALUES_PER_LABEL: Final = 200  # of one label in all instruments together; what comes later is counted as `other`
SERIES_PER_INSTRUMENT: Final = 1_000
METRICS_EXPORT_INTERVAL: Final = 30_000
SCRAPE_TIMEOUT: Final = 5_000  # how long a scrape waits for the event loop
LAG_INTERVAL: Final = 250
