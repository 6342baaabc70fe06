// Package files reads Applications from files, and decides what the controller would do about them. It
// accepts files, directories, URLs and standard input, finds every validation error with its line and
// column, and passes the result to package plan.
//
// A Subject is an Application with the document that it was read from. A Decision adds the plan of the
// controller. A Submission is the Application that the submit command sends. These types are also used for
// Applications that were read from a cluster; they then have no document. This package does not contact a
// cluster: package connection does.
//
// These rules apply in the whole package:
//
//   - Validation errors are joined, so that a user sees all of them at once. Each has a position in its file.
//   - No error contains the value of an input or of a Secret.
//   - Flags are checked before any file is read, and files before any request is sent.
//   - Standard input is read once.
package files
