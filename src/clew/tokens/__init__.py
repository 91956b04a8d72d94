"""How large things are, in tokens: estimates, anchors on what a provider reported, and the window they must fit."""
