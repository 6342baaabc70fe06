// Package cli is the command line of Holdfast. Each command has its own file here, unless it belongs to a group with
// a package: setup or author. Its options are set by flags, and its logic does not depend on cobra.
//
// The package makes no decisions of its own. It prints what package plan decides, so it cannot disagree with the
// controller. Commands write data to one stream and messages to the other. They return an error that determines
// the exit status of the program.
//
// These packages are below it. Each one depends only on those after it:
//
//   - setup installs, checks and uninstalls Holdfast
//   - author prints and checks what authors of Applications write
//   - command makes commands from their texts, flags and functions, and describes wrong arguments and flags
//   - page presents results as HTML
//   - report presents results as text and as values
//   - connection reads from and writes to a cluster, with the permissions of the user
//   - files reads Applications and live objects from files instead
//   - terminal provides streams, colors, lines and values
//
// The main program is:
//
//	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now}
//	status := cli.Main(ctx, []string{"holdfast", "diff", "-f", "-"}, streams)
//	os.Exit(status)
package cli
