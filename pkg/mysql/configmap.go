package mysql

import (
	"crypto/sha256"
	_ "embed" // for the scripts
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The names of the files in the ConfigMap.
const (
	optionsFile = "my.cnf"
	startFile   = "start.sh"
	aliveFile   = "alive.sh"
	readyFile   = "ready.sh"
)

// startScript writes the credentials into an init file and client.cnf, and starts the server. Its arguments are the
// four directories.
//
//go:embed files/start.sh
var startScript string

// aliveScript is the liveness probe. It also fails if the Secret has other credentials than at the start: the restart
// applies them.
//
//go:embed files/alive.sh
var aliveScript string

// readyScript is the readiness probe. It fails if the server would refuse a client with the credentials that the Secret
// has now.
//
//go:embed files/ready.sh
var readyScript string

// files returns the files for the Pod.
func (d *database) files() values {
	return values{optionsFile: d.options(), startFile: startScript, aliveFile: aliveScript, readyFile: readyScript}
}

// configMap returns the ConfigMap that the Pod mounts as a directory.
func (d *database) configMap() values {
	return d.object("v1", "ConfigMap", d.configName(), values{"data": d.files()})
}

// checksum returns a checksum of the files that the container reads only when it starts. When one changes, the checksum
// replaces the Pod. It omits the options for small storage, because storage grows without a restart: the server uses the
// new options from its next start on. The names and contents are separated by NUL characters, so that text cannot move
// from one file to another unnoticed.
func (d *database) checksum() string {
	large := *d
	large.storage = *resource.NewQuantity(gibibyte, resource.BinarySI)
	files := large.files()
	var all strings.Builder
	for _, name := range []string{optionsFile, startFile} {
		text, _ := files[name].(string)
		all.WriteString(name + "\x00" + text + "\x00")
	}
	sum := sha256.Sum256([]byte(all.String()))
	return hex.EncodeToString(sum[:])
}
