package architecture

// module is the import path of the product.
const module = "holdfast.dev/holdfast"

// layers are the packages of the product, bottom layer first, including everything below their directories.
// A package can import packages in lower layers and in its own directory, but no others in its layer.
var layers = [][]string{
	{"internal/compress", "internal/footprint"},
	{"pkg/api", "internal/version", "internal/suggest", "internal/truncate"},
	{"pkg/kinds", "pkg/manifest", "pkg/expression"},
	{"pkg/observer", "pkg/slice"},
	{"pkg/delta"},
	{"pkg/template", "pkg/writer", "pkg/claim"},
	{"pkg/hooks", "pkg/tosca", "pkg/mysql", "pkg/health", "pkg/suggestion", "pkg/store"},
	{"pkg/intent", "pkg/builtin"},
	{"pkg/record"},
	{"pkg/plan"},
	{"pkg/explain"},
	{"pkg/cluster", "pkg/fetch", "pkg/notify", "pkg/worker"},
	{"pkg/audit", "pkg/reconcile", "pkg/source"},
	{"pkg/controller", "pkg/cli", "pkg/callback"},
	{"pkg/program"},
	{"cmd"},
}

// pure are the packages that decide and never act, and the store, which gets its clock and its objects from others.
var pure = []string{
	"internal/compress", "internal/footprint", "pkg/api", "pkg/kinds", "pkg/manifest", "pkg/expression", "pkg/observer", "pkg/slice", "pkg/delta",
	"pkg/template", "pkg/writer", "pkg/claim", "pkg/builtin", "pkg/hooks", "pkg/tosca", "pkg/mysql", "pkg/intent", "pkg/record", "pkg/health", "pkg/suggestion", "pkg/store", "pkg/plan", "pkg/explain",
}

// notInPure lists packages that pure packages must not depend on, not even indirectly. It does not contain
// net/http, because the API types of Kubernetes depend on it; see notImportedByPure.
var notInPure = []string{
	"k8s.io/client-go",
	"k8s.io/apiserver",
	"k8s.io/apiextensions-apiserver",
	"k8s.io/cli-runtime",
	"k8s.io/component-base",
	"github.com/spf13/cobra",
	"os/exec",
}

// dataOnly are the pure packages that handle every object as data, without the Go types of built-in kinds.
// (pkg/health and pkg/plan depend on such types through the kstatus library.)
var dataOnly = []string{
	"internal/compress", "internal/footprint", "pkg/api", "pkg/kinds", "pkg/manifest", "pkg/expression", "pkg/observer", "pkg/slice", "pkg/delta",
	"pkg/template", "pkg/writer", "pkg/claim", "pkg/builtin", "pkg/hooks", "pkg/tosca", "pkg/mysql", "pkg/intent", "pkg/record", "pkg/suggestion", "pkg/store",
}

// notImportedByPure lists packages that pure packages must not import directly.
var notImportedByPure = []string{
	"crypto/rand", "math/rand", "math/rand/v2", // randomness is a parameter
	"net", "net/http",
	"os", "os/signal", "io/ioutil", // files and environment are parameters
	"log", "log/slog", "k8s.io/klog", // libraries return errors
	"syscall", "unsafe",
}

// notCalledByPure lists functions of allowed packages that read the clock.
var notCalledByPure = map[string][]string{
	"time":                                 {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"k8s.io/apimachinery/pkg/apis/meta/v1": {"Now", "NowMicro"},
	"fmt":                                  {"Print", "Printf", "Println"},
}

// nowhere lists packages that no package may import, including tests.
var nowhere = []string{
	"sigs.k8s.io/controller-runtime", // the project has its own loop
	"github.com/evanphx/json-patch",  // the old API; the current one ends in /v5
}

// ofController are the packages of the controller, besides the pure ones. They must not run programs,
// because their input comes from users.
var ofController = []string{"cmd/holdfast-controller", "pkg/program", "pkg/controller", "pkg/callback", "pkg/reconcile", "pkg/worker", "pkg/cluster", "pkg/source", "pkg/fetch", "pkg/audit", "pkg/notify"}

// notInController lists packages that the controller must not use.
var notInController = []string{
	module + "/pkg/cli",
	"k8s.io/cli-runtime",
	"k8s.io/kubectl",
}
