// Package connection connects to the cluster that kubectl's flags name, with the rights of the user. It finds
// the Application of a command, reads its live objects, decides about it like the controller, sends
// submissions, and waits for their results.
//
// Target contains the flags of commands that take an Application of the cluster or of files. Explained adds a
// remedy to the errors of an API server.
//
// The package keeps these rules:
//
//   - It never writes the objects that an Application holds: only the controller does. It sends them only
//     as dry runs.
//   - Missing rights of the user never make a decision wrong. An object that the user may not read blocks its
//     change, and a list that the user may not read is a note.
//   - All applied fields have one field manager, so that a later submission can remove them.
package connection
