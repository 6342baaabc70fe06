// Command generate prints docs/cli.md, the reference of the command line.
package main

import (
	"fmt"
	"os"
)

func main() {
	if _, err := os.Stdout.Write(reference()); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
