"""Each way to wait, as small as it can be; docs/how-to/choose-a-wait.md says when to use which."""
