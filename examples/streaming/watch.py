"""`python -m examples.streaming.watch [KEY] --state FILE`: reads a story; killed and started again, it goes on."""

import argparse
from pathlib import Path

from examples.streaming.plan import story
from examples.streaming.view import View
from perdure.sync import Client


def main(key: str, state: Path) -> None:
    view = View.load(state)
    print(view.text, end="", flush=True)
    if view.ended:
        return
    with Client() as client:  # looks for another server, and goes on, whenever its connection is gone
        for event in client.run(story, key).watch(resume_token=view.resume_token):
            print(view.show(event), end="", flush=True)
            view.save(state)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("key", nargs="?", default="story-1")
    parser.add_argument("--state", type=Path, default=Path("story.json"), help="where to keep what was shown")
    given = parser.parse_args()
    main(given.key, given.state)
