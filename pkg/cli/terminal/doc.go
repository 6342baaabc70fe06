// Package terminal is the interface between the command line and a terminal: the streams and their width,
// colors, lines, values as YAML, and the exit status.
//
// It does not depend on Applications or clusters. Text from other sources must pass through Visible, so that
// it cannot control the terminal. Colors are added after a text is wrapped or aligned, because the width of a
// text is computed without them.
package terminal
