// Demo shows what Holdfast does, on a real control plane that it starts itself:
//
//	bin/demo demo   tell the story, check every step, clean up
//	bin/demo up     start a control plane with Holdfast, to play with
//	bin/demo down   stop it and remove its files
//
// `make demo`, `make up` and `make down` do the same and build first what this needs.
//
// What it prints is real: the commands are run as they are shown, and the output is
// theirs. A step that does not happen fails the demo.
package main
