// Package shard distributes Applications over replicas. Each Application belongs to one of a fixed number of slots.
// Each slot has a Lease, and each replica holds an equal share of these Leases.
//
// A Runner holds the slots of one process. It does not know the Applications or the work: it calls Work.Begin when it
// holds a slot, and Work.End before it releases the slot or after it has lost it. No replica coordinates the others.
// Each one computes the same assignment from the Leases that it sees, releases slots that belong to others, and takes
// free ones.
//
// The invariant is that two replicas never write for one slot at the same time:
//
//	LeaseDuration    another replica takes a Lease that was not renewed for this long
//	RenewDeadline    the holder stops writing (Fence) when its last renewal is older
//	RetryPeriod      the holder renews this often
//
// RenewDeadline is shorter than LeaseDuration, and starts before the request of the renewal. The holder and the
// others measure it with their own clocks, so the clocks need not agree. Source: docs/shards.md.
package shard
