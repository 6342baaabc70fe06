package kinds_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/kinds"
)

func Example() {
	service := kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Service"})
	ports := service.Field("spec").Field("ports")
	fmt.Println(ports.List, ports.Keys, ports.Defaults)
	// Output: map [port protocol] map[protocol:TCP]
}
