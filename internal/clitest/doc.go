// Package clitest is for tests only: it runs testdata/script/cluster, what people
// type and what they see, against a real control plane on which the controller
// runs. Package cli has the scripts that need no cluster; both have the steps
// EndsWith and RunExamples.
package clitest
