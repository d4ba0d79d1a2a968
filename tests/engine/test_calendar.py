"""C22: cron in time zones where a time of day does not exist, or comes twice; and what is no calendar."""

import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure_server.engine.calendar import Calendar, CalendarError, check, time_text
from perdure_server.kernel import limits
from perdure_server.kernel.schedule import Cron, Interval, ScheduledStart, ScheduleSettings


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1_000)


def times(trigger: Cron | Interval, after: str, count: int) -> list[str]:
    calendar = Calendar(ScheduleSettings((trigger,), ScheduledStart("note")))
    found: list[str] = []
    cursor: int | None = ms(after)
    for _ in range(count):
        assert cursor is not None
        cursor = calendar.following(cursor)
        found.append("" if cursor is None else time_text(cursor))
    return found


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Kathmandu"])
def machine_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The server's own time zone, which must not matter."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("machine_zone")
class TestC22:
    def test_c22_a_time_that_does_not_exist_fires_right_after_the_change(self) -> None:
        found = times(Cron("30 2 * * *", "Europe/Berlin"), "2026-03-28T00:00:00Z", 3)
        assert found == ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]

    def test_c22_a_time_that_comes_twice_fires_once(self) -> None:
        found = times(Cron("30 2 * * *", "Europe/Berlin"), "2026-10-24T00:00:00Z", 3)
        assert found == ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]

    def test_c22_asked_in_the_second_pass_of_the_hour_it_does_not_fire_again(self) -> None:
        for minute in (0, 15, 30, 45, 59):
            assert times(Cron("30 2 * * *", "Europe/Berlin"), f"2026-10-25T01:{minute:02}:00Z", 1) == ["2026-10-26T01:30:00Z"]

    def test_c22_every_minute_of_two_hours_of_the_day(self) -> None:
        found = times(Cron("0-59 2-3 * * *", "Europe/Berlin"), "2026-10-25T01:10:00Z", 1)
        assert found == ["2026-10-25T02:00:00Z"], "the hour 2 has been, the hour 3 comes"

    def test_c22_what_goes_by_elapsed_time_goes_on_through_both(self) -> None:
        autumn = times(Cron("*/20 * * * *", "Europe/Berlin"), "2026-10-24T23:50:00Z", 12)
        spring = times(Cron("0 * * * *", "Europe/Berlin"), "2026-03-29T00:00:00Z", 4)
        assert {ms(after) - ms(before) for before, after in pairwise(autumn)} == {20 * limits.MINUTE}
        assert {ms(after) - ms(before) for before, after in pairwise(spring)} == {limits.HOUR}

    def test_c22_half_hour_changes_and_changes_at_midnight(self) -> None:
        assert times(Cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-03T00:00:00Z", 2) == [
            "2026-10-03T15:30:00Z",
            "2026-10-04T15:15:00Z",
        ]
        assert times(Cron("30 0 * * *", "Asia/Beirut"), "2026-03-28T00:00:00Z", 2) == ["2026-03-28T22:00:00Z", "2026-03-29T21:30:00Z"]

    @pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"])
    def test_c22_a_daily_job_fires_once_on_every_day_of_ten_years(self, zone: str) -> None:
        found = times(Cron("30 2 * * *", zone), "2026-01-01T12:00:00Z", 3_650)
        gaps = {ms(after) - ms(before) for before, after in pairwise(found)}
        assert min(gaps) >= limits.DAY - 2 * limits.HOUR
        assert max(gaps) <= limits.DAY + 2 * limits.HOUR


class TestCalendar:
    def test_intervals_count_from_the_epoch(self) -> None:
        assert times(Interval(7_000, 2_000), "1970-01-01T00:00:00Z", 3) == [time_text(at) for at in (2_000, 9_000, 16_000)]

    @given(every=st.integers(1_000, limits.DURATION), after=st.integers(0, limits.TIME // 2), data=st.data())
    def test_an_interval_is_strictly_after_and_next(self, every: int, after: int, data: st.DataObject) -> None:
        phase = data.draw(st.integers(0, every - 1))
        found = Interval(every, phase).following(after)
        assert after < found <= after + every
        assert (found - phase) % every == 0

    def test_leap_days_and_the_end_of_time(self) -> None:
        assert times(Cron("0 0 29 2 *"), "2096-03-01T00:00:00Z", 1) == ["2104-02-29T00:00:00Z"]
        assert times(Cron("0 0 1 1 *"), "9999-06-01T00:00:00Z", 1) == [""]
        assert times(Interval(limits.DURATION), "9999-12-31T00:00:00Z", 1) == [""]

    @pytest.mark.parametrize(
        "expression",
        ["", "@daily", "* * * *", "* * * * * *", "61 * * * *", "*/0 * * * *", "0 0 31 2 *", "0 0 30 2 *", "a b c d e", "5-1 * * * *"],
    )
    def test_what_is_no_cron_expression(self, expression: str) -> None:
        with pytest.raises(CalendarError) as wrong:
            check(Cron(expression))
        assert wrong.value.field == "expression"

    @pytest.mark.parametrize("zone", ["", "America", "../x", "/etc/passwd", "localtime", "Middle/Earth", "x\0y", "z" * 300])
    def test_what_is_no_time_zone(self, zone: str) -> None:
        with pytest.raises(CalendarError) as wrong:
            check(Cron("* * * * *", zone))
        assert wrong.value.field == "time_zone"

    @pytest.mark.parametrize("expression", ["* * * * *", "0 2 * * MON-FRI", "0 0 L * *", "0 0 * * 5L", "0 9 1 JAN *", "0 0 * * MON#1"])
    def test_what_is_one(self, expression: str) -> None:
        check(Cron(expression, "Europe/Berlin"))
