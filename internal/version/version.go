// Package version reports the version of this build.
package version

import "runtime/debug"

// number is set by the linker (make build).
var number = ""

// String returns the version of this build: the tag or commit of the sources, the module version if it was
// installed by the go command, or "devel".
func String() string {
	if number != "" {
		return number
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
