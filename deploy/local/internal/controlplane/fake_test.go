package controlplane

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// The supervisor starts this test binary as its components, which serve only their probes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Etcd:
			runFakeEtcd()
		case APIServer:
			runFakeAPIServer()
		}
	}
	os.Exit(m.Run())
}

func runFakeEtcd() {
	EndWithParent()
	if flagValue("--broken") == "true" {
		fmt.Fprintln(os.Stderr, "the disk is made of cheese")
		os.Exit(3)
	}
	url := flagValue("--listen-client-urls")
	fmt.Fprintln(os.Stderr, http.ListenAndServe(strings.TrimPrefix(url, "http://"), answerOK))
	os.Exit(1)
}

func runFakeAPIServer() {
	EndWithParent()
	listen := flagValue("--bind-address") + ":" + flagValue("--secure-port")
	fmt.Fprintln(os.Stderr, http.ListenAndServeTLS(listen,
		flagValue("--tls-cert-file"), flagValue("--tls-private-key-file"), answerOK))
	os.Exit(1)
}

var answerOK = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

func flagValue(name string) string {
	for _, arg := range os.Args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
	}
	return ""
}
