// Package files makes Applications of files, and says what would be done about
// them: it reads files, directories, URLs and standard input, finds every mistake
// with its line and column, and hands what it read to package plan.
//
// A Subject is an Application and where it is written; a Decision is what the
// controller would do about it; a Submission is what `submit` sends. They have the
// same shape for an Application that was read from a cluster, which stands in no
// file. No cluster is asked here: package connection does that.
package files
