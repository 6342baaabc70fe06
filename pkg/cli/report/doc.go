// Package report presents what is known about an Application: its status, the fields of a resource and their
// writers, the drift, and the objects that its resources own. Each report is a value for programs, a text for users,
// or both.
//
// The package decides nothing: it shows a files.Decision. It reads from the cluster only the events, and the
// objects that a resource owns. Values of Secrets are masked before they reach it, unless the user asked
// explain to show them. Every string from a cluster passes through terminal.Visible before it is printed as text.
package report
