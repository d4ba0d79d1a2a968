"""What the engine asks of the outside: narrow Protocols, and the errors that they may raise."""
