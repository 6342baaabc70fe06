package architecture

// module is the import path of the product.
const module = "holdfast.dev/holdfast"

// layers are the packages of the product from the bottom to the top, with
// everything below their directories. A package may import what is in a lower
// layer, and what is in its own directory; not its neighbours.
var layers = [][]string{
	{"pkg/api", "internal/version", "internal/suggest"},
	{"pkg/kinds", "pkg/manifest", "pkg/expression"},
	{"pkg/observer", "pkg/slice"},
	{"pkg/delta"},
	{"pkg/template"},
	{"pkg/hooks", "pkg/tosca", "pkg/mysql"},
	{"pkg/plan", "pkg/builtin"},
	{"pkg/cluster", "pkg/fetch", "pkg/notify", "pkg/shard", "pkg/worker"},
	{"pkg/audit", "pkg/turn", "pkg/source"},
	{"pkg/controller", "pkg/cli", "pkg/callback"},
	{"cmd"},
}

// pure are the packages that decide and never act.
var pure = []string{
	"pkg/api", "pkg/kinds", "pkg/manifest", "pkg/expression", "pkg/observer", "pkg/slice", "pkg/delta",
	"pkg/template", "pkg/builtin", "pkg/hooks", "pkg/tosca", "pkg/mysql", "pkg/plan",
}

// notInPure lists what no pure package may contain, not even through others.
// net/http is missing here, because the types of Kubernetes' own API bring it;
// see notImportedByPure.
var notInPure = []string{
	"k8s.io/client-go",
	"k8s.io/apiserver",
	"k8s.io/apiextensions-apiserver",
	"k8s.io/cli-runtime",
	"k8s.io/component-base",
	"github.com/spf13/cobra",
	"os/exec",
}

// dataOnly are the pure packages for which every object is data: they contain no
// Go types of built-in kinds. (pkg/plan does, through the library of kstatus.)
var dataOnly = []string{
	"pkg/api", "pkg/kinds", "pkg/manifest", "pkg/expression", "pkg/observer", "pkg/slice", "pkg/delta",
	"pkg/template", "pkg/builtin", "pkg/hooks", "pkg/tosca", "pkg/mysql",
}

// notImportedByPure lists what no pure package may import itself.
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

// nowhere lists what no package may import, tests included.
var nowhere = []string{
	"sigs.k8s.io/controller-runtime", // the loop is ours
	"github.com/evanphx/json-patch",  // the old API; the current one ends in /v5
}

// ofController are the packages that the controller consists of, beside the pure
// ones: what users write makes them run no program.
var ofController = []string{"cmd/holdfast-controller", "pkg/controller", "pkg/callback", "pkg/turn", "pkg/worker", "pkg/shard", "pkg/cluster", "pkg/source", "pkg/fetch", "pkg/audit", "pkg/notify"}

// notInController lists what the controller has no use for.
var notInController = []string{
	module + "/pkg/cli",
	"k8s.io/cli-runtime",
	"k8s.io/kubectl",
}
