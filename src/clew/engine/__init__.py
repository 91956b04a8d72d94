"""Context engines: what one promises, the two that ship, how any is made safe, and turns handed over once."""
