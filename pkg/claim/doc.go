// Package claim decides which Application owns an object, which ones hold its fields, and what each may do with it.
//
//	policy.go    what an Application may do with an object: the table, and the choice of a row
//	owner.go     who owns an object, according to its metadata and the inventory
//	tracking.go  the tracking metadata of objects
//	holders.go   the annotation holdfast.dev/holders: which Applications hold which fields
//	claim.go     the claims of other Applications, and which of two claims has precedence
//
// Other packages only ask the policy; they do not ask how an Application is related to an object.
//
// The package has no statuses of other Applications. Any client can change the metadata of an object, so package plan
// checks claims against the statuses of their holders.
package claim
