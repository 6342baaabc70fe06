// Command holdfast-controller is the controller for Applications.
package main

import (
	"os"

	"holdfast.dev/holdfast/pkg/program"
)

func main() { os.Exit(program.Main(program.Options{})) }
