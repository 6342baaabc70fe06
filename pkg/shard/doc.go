// Package shard distributes Applications over replicas. Each Application belongs to one of a fixed number
// of slots. Each slot has a Lease, and each replica holds an equal share of these Leases.
package shard
