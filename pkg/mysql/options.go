package mysql

import (
	"fmt"
	"strings"
)

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
)

// options returns my.cnf: defaults derived from the size of the Pod, and then the user's lines, which have precedence.
// Options that a MySQL version or MariaDB may not support have the prefix "loose-". The last of two lines for one
// option decides, so the user's lines must be last.
func (d *database) options() string {
	var b strings.Builder
	b.WriteString("[mysqld]\n")
	for _, option := range d.sized() {
		b.WriteString(option + "\n")
	}
	if lines := strings.TrimSpace(d.spec.Configuration); lines != "" {
		b.WriteString("\n# spec.configuration\n" + strings.ReplaceAll(lines, "\r\n", "\n") + "\n")
	}
	return b.String()
}

// sized returns the options that the template sets, and comments for the reader of the file. Most depend on the size of
// the Pod. Below 1 GiB of memory, performance-schema would take too large a part. Below 1 GiB of storage, the redo log
// would.
func (d *database) sized() []string {
	memory, storage := d.memory.Value(), d.storage.Value()
	pool, instances := bufferPool(memory)
	options := []string{
		"# Names of clients are not looked up: accounts here have none.",
		"skip-name-resolve",
		"local-infile=0",
		"character-set-server=utf8mb4",
		"# A single server has nobody to send its log to, and the volume is finite.",
		"skip-log-bin",
		"loose-mysqlx=0",
		fmt.Sprintf("# Memory: %s", d.spec.Memory),
		fmt.Sprintf("innodb-buffer-pool-size=%dM", pool/mebibyte),
		fmt.Sprintf("loose-innodb-buffer-pool-instances=%d", instances),
		fmt.Sprintf("max-connections=%d", connections(memory)),
	}
	if memory < gibibyte {
		options = append(options, "performance-schema=OFF", "table-open-cache=256", "table-definition-cache=400")
	}
	if memory < 512*mebibyte {
		options = append(options, "innodb-log-buffer-size=2M", "key-buffer-size=1M", "tmp-table-size=4M", "max-heap-table-size=4M",
			"loose-temptable-max-ram=4M")
	}
	if storage < gibibyte {
		options = append(options, fmt.Sprintf("# Storage: %s", d.spec.Storage), "loose-innodb-redo-log-capacity=16M")
	}
	return options
}

// bufferPool returns the size of InnoDB's buffer pool in bytes, and the number of its instances. The server
// itself needs about 384 MiB. The pool gets three quarters of the rest, and at least an eighth of the
// total:
//
//	memory  128Mi  512Mi  1Gi    2Gi     4Gi     16Gi
//	pool    16Mi   96Mi   384Mi  1152Mi  2560Mi  11Gi
//
// The size is rounded down to 128 MiB per instance, because the server rounds up.
func bufferPool(memory int64) (bytes, instances int64) {
	const server, part = 384 * mebibyte, 128 * mebibyte
	bytes = max(memory/8, (memory-server)/4*3)
	instances = min(max(bytes/gibibyte, 1), 8)
	if unit := part * instances; bytes >= unit {
		return bytes / unit * unit, instances
	}
	return bytes / mebibyte * mebibyte, instances
}

// connections returns the maximum number of clients: one for each 8 MiB of memory, from 16 to 1000.
func connections(memory int64) int64 {
	return min(max(memory/(8*mebibyte), 16), 1000)
}
