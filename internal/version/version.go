// Package version says which build this is.
package version

import "runtime/debug"

// number is set by the linker (make build).
var number = ""

// String is the version of this build: the tag or commit it was made from, the
// module's version if it was installed by the go command, or "devel".
func String() string {
	if number != "" {
		return number
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
