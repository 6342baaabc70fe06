// Package worker is the loop of a controller: keys come from a queue, a few workers
// handle them, and again when that is asked for. What fails is retried, each time later;
// what panics stops nobody else.
package worker
