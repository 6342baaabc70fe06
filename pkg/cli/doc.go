// Package cli is the command line of Holdfast: one file for each command, its
// options filled from flags, its logic without cobra.
//
// It decides nothing itself. What it prints is what package plan decides, so it
// cannot disagree with the controller. Commands write to the streams they are
// given, data on one and messages on the other, and return an error that says with
// which status the program ends.
//
// What the commands share is in the packages below, and each of these knows only
// those after it:
//
//   - report says what was found out, as text and as values
//   - connection reads and writes in a cluster, with the rights of the user
//   - files reads Applications and live objects from files instead
//   - terminal has the streams, colours, lines and values
//
// The main program is:
//
//	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now}
//	status := cli.Main(ctx, []string{"holdfast", "diff", "-f", "-"}, streams)
//	os.Exit(status)
package cli
