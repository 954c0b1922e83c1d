package command

// special works out effects that the letters of a row cannot tell, and reports whether it did.
func (c *call) special() bool { return false }
