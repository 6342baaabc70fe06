// Package clitest runs testdata/script/cluster, that is, commands with their expected output, against a real control
// plane with a running controller. Package cli contains the scripts that need no cluster.
//
// It also contains what both share with the tests of the packages below pkg/cli: the steps EndsWith and RunExamples, and
// APIServer, which has fixed responses.
package clitest
