// Package shard shares Applications between replicas: each belongs to one of a fixed number
// of slots, each slot has a Lease, and each replica holds its share of them.
package shard
