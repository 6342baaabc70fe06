package cli_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/cli"
)

func Example() {
	application := strings.NewReader(`
apiVersion: holdfast.dev/v1alpha1
kind: Application
metadata: {name: settings}
spec:
  manifest:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mode: live}}
`)
	streams := cli.Streams{In: application, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now}
	status := cli.Main(context.Background(), []string{"holdfast", "diff", "-f", "-"}, streams)
	fmt.Println("status", status)
	// Output:
	// Application default/settings
	//
	// + create ConfigMap default/settings (v1)
	//     + apiVersion: v1
	//     + kind: ConfigMap
	//     + metadata:
	//     +   name: settings
	//     + data:
	//     +   mode: live
	//
	// Plan: 1 to create
	// status 1
}
