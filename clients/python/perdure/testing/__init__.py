"""For tests of programs that use Perdure: activities by themselves. Whole workflows against a server come later."""

from perdure.testing.context import FakeContext, Recorded, fake_context

__all__ = ["FakeContext", "Recorded", "fake_context"]
