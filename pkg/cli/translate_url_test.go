package cli_test

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast.dev/holdfast/internal/clitest"
)

// TestURLs runs testdata/script/url. Each script has a server for its directory site. $SITE contains the
// server's address, and is replaced by it in *.yaml.
func TestURLs(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../../testdata/script/url", UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds:  map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": clitest.EndsWith},
		Setup: serveSite,
	})
}

func serveSite(env *testscript.Env) error {
	site := httptest.NewTLSServer(http.FileServer(http.Dir(filepath.Join(env.WorkDir, "site"))))
	env.Defer(site.Close)
	certificate := filepath.Join(env.WorkDir, "site.crt")
	env.Setenv("SITE", site.URL)
	env.Setenv("SSL_CERT_FILE", certificate)
	files, err := filepath.Glob(filepath.Join(env.WorkDir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("$SITE"), []byte(site.URL)), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}), 0o600)
}
