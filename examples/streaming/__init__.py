"""A model's text, streamed to watchers that lose their connection, their server or their own process, without gap or repeat."""
