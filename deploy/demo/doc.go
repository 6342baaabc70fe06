// Demo demonstrates Holdfast on a real control plane that it starts itself:
//
//	bin/demo demo   tell the story, check every step, clean up
//	bin/demo up     start a control plane with Holdfast, to play with
//	bin/demo down   stop it and remove its files
//
// `make demo`, `make up` and `make down` run the same commands and build the required programs first.
//
// All output is real: the demo runs the commands that it prints, and prints their output. It fails if a
// step fails.
package main
