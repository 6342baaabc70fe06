// Package terminal is what the command line reads from and writes to: the streams
// and how wide they are, colours, lines, values as YAML, and the status that a
// program ends with.
//
// It knows nothing of Applications and of clusters. Text that comes from elsewhere
// goes through Visible, so that it cannot act on the terminal that it is shown on.
package terminal
