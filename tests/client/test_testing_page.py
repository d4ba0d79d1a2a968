"""docs/testing.md: its files are a test suite, and pass as they stand."""

import asyncio
import re
import sys
from pathlib import Path

import pytest

from tests.processes import environment

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
FILES = dict(re.findall(r"```python\n# file: (\w+\.py)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL))
PLUGINS = ("-p", "no:cacheprovider", "-p", "no:valkey", "-p", "no:xdist")


@pytest.mark.slow
async def test_the_page_is_a_suite_that_passes(tmp_path: Path) -> None:
    assert sorted(FILES) == ["conftest.py", "orders.py", "test_activity.py", "test_order.py"]
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n", encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "pytest", "-q", "-W", "error", *PLUGINS, "--durations=3"),
        cwd=tmp_path,
        env=environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(50):
        told, _ = await process.communicate()
    assert process.returncode == 0, told.decode()
    assert "9 passed" in told.decode()
