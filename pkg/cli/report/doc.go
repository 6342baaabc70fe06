// Package report says what was found out about an Application: its status, the
// fields of a resource and who wrote them, what differs, and the tree of what it
// has become. Each is a value for programs, a text for people, or both.
//
// It decides nothing: it shows a files.Decision. Only for the events and for what
// a resource owns it asks the cluster itself.
package report
