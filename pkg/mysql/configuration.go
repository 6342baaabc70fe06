package mysql

import (
	"errors"
	"strings"
)

// reserved maps the options that the Pod and its Services depend on to the reason for it.
var reserved = map[string]string{
	"datadir":           "the volume is mounted there",
	"socket":            "the probes use it",
	"pid-file":          "it has its own directory",
	"init-file":         "it applies the credentials of the Secret",
	"port":              "the Services use port 3306",
	"skip-networking":   "the Services need the network",
	"bind-address":      "the Services use the address of the Pod",
	"user":              "the Pod already runs as the right user",
	"skip-grant-tables": "every client would be root",
	"daemonize":         "the Pod ends when its process does",
}

// checkConfiguration rejects lines that would break the server or configure another program. It does not know which
// options exist: they depend on the version of the server, which reports an unknown one in its log.
func checkConfiguration(text string) error {
	var faults []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		if reason := checkLine(strings.TrimSpace(line)); reason != "" {
			faults = append(faults, fault("configuration", "line %d: %s", number, reason))
		}
	}
	return errors.Join(faults...)
}

// checkLine returns the reason why a line of my.cnf is not allowed, or "".
//
//	max-connections=50     allowed
//	# a comment            allowed
//	[client]               another section
//	!include other.cnf     includes a file
//	bind_address=0.0.0.0   reserved
func checkLine(line string) string {
	switch {
	case line == "" || line[0] == '#' || line[0] == ';':
		return ""
	case strings.ContainsRune(line, 0):
		return "has a null character"
	case line[0] == '!':
		return "includes other files, which do not exist"
	case line[0] == '[' && line != "[mysqld]":
		return "begins another section: only [mysqld] is allowed"
	}
	name := optionName(line)
	if why, ok := reserved[name]; ok {
		return name + " cannot be set: " + why
	}
	return ""
}

// optionName returns the normalized name of an option: lower case, with dashes. The server treats dashes and
// underscores alike and strips prefixes. loose_Bind_Address = x is bind-address. A prefix is stripped only once, as the
// server does.
func optionName(line string) string {
	name, _, _ := strings.Cut(line, "=")
	name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	for _, prefix := range []string{"loose-", "maximum-", "enable-"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}
