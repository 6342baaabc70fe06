package plan

// Retire says what to do about the resources of an Application that is being
// deleted: delete them all in reverse order, or, where the deletion policy is
// Orphan, take our marks off and leave them.
func Retire(in Input) *Plan {
	p := newPlan(in)
	p.retiring = true
	records, inventory := recordsOf(in)
	p.statuses = statusByID(inventory)
	addCreated(records, in)
	p.leave(inventory, nil, records)
	p.order()
	return p
}
