// Package connection talks to the cluster that kubectl's flags name, with the
// rights of the user: it finds the Application that a command means, reads its
// live objects and decides about it as the controller does, sends what is
// submitted, and waits for what comes of it.
//
// TargetFlags are those of commands that take an Application of the cluster or of
// files. Explained says of every refusal of an API server what to do about it.
package connection
