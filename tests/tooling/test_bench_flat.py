"""The scenes of tools/bench/flat.py: how they judge, and that what was measured is on disk at once."""

import json
from pathlib import Path

from tools.bench.flat import Results
from tools.bench.scenes import SCENES, Limit


def test_a_limit_says_whether_it_is_met() -> None:
    assert Limit("ratio", most=1.15).says(1.1) == "ratio 1.1, wanted at most 1.15: met"
    assert Limit("rate", least=1_000).says(999).endswith("at least 1000: NOT MET")


def test_what_was_measured_is_written_at_once_and_so_is_what_failed(tmp_path: Path) -> None:
    lines = tmp_path / "flat.jsonl"
    results = Results(lines, is_small=True)
    results.add("graphs", "5", {"step_ratio": 2.5, "store_mib": 60.0})
    (first,) = map(json.loads, lines.read_text().splitlines())
    assert (first["scene"], first["figures"]["step_ratio"], first["small"]) == ("graphs", 2.5, True)
    results.fail("children", OSError("no room"))
    assert json.loads(lines.read_text().splitlines()[1])["failed"] == "no room"
    assert results.failed
    assert "step_ratio 2.5, wanted at most 3: met" in results.as_markdown()
    assert "failed: no room" in results.as_markdown()


def test_all_scenes_together_take_less_than_an_hour_even_if_each_is_cut_off() -> None:
    assert sum(scene.seconds for scene in SCENES.values()) < 3_600
