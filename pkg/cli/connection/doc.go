// Package connection connects to the cluster that kubectl's flags name, with the rights of the user. It finds
// the Application of a command, reads its live objects, decides about it like the controller, sends
// submissions, and waits for their results.
//
// TargetFlags has the flags of commands that take an Application of the cluster or of files. Explained adds a
// remedy to the errors of an API server.
package connection
