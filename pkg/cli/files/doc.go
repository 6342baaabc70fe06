// Package files reads Applications from files, and decides what the controller would do about them. It
// accepts files, directories, URLs and standard input, finds every validation error with its line and
// column, and passes the result to package plan.
//
// A Subject is an Application with the document that it was read from. A Decision adds the plan of the
// controller. A Submission is the Application that the submit command sends. These types are also used for
// Applications that were read from a cluster; they then have no document. This package does not contact a
// cluster: package connection does.
package files
