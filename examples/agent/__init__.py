"""An agent that may do little, spend little, and act only when a person has said yes."""
