// Package clitest contains only tests. It runs testdata/script/cluster, that is, commands with their
// expected output, against a real control plane with a running controller. Package cli has the scripts that
// need no cluster. Both use the steps EndsWith and RunExamples.
package clitest
