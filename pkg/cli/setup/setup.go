package setup

import "holdfast.dev/holdfast/pkg/cli/command"

// Commands returns the constructors of the commands install, check and uninstall, in this order.
func Commands() []command.Constructor {
	return []command.Constructor{newInstallCommand, newCheckCommand, newUninstallCommand}
}
