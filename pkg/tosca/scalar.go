package tosca

// Tags in the short form that the YAML library gives to nodes.
const (
	tagMap       = "!!map"
	tagSeq       = "!!seq"
	tagStr       = "!!str"
	tagInt       = "!!int"
	tagFloat     = "!!float"
	tagBool      = "!!bool"
	tagNull      = "!!null"
	tagTimestamp = "!!timestamp"
	tagMerge     = "!!merge"
	tagBinary    = "!!binary"
)
