package controller

// Watching is the number of kinds that are watched, for tests.
func (c *Controller) Watching() int { return c.target.watches.Len() }
