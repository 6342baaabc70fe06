package controller

// Watching returns the number of watched kinds, for tests.
func (c *Controller) Watching() int { return c.target.watches.Len() }
