// Sbom writes the bill of materials of a program. `make sbom` runs it.
//
//	go run ./sbom -version v1.2.3 -o ../../bin/holdfast-controller.cdx.json ../../bin/holdfast-controller
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"holdfast.dev/holdfast/tools/manifests/internal/bill"
)

func main() {
	version := flag.String("version", "devel", "`VERSION` of the program")
	to := flag.String("o", "", "`FILE` to write the bill of materials to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	made, err := bill.Of(ctx, flag.Arg(0), *version)
	if err == nil {
		err = bill.Write(*to, made)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}
