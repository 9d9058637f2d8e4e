"""Pure decisions: no await, no clock, no port."""
