package tosca

import "strings"

// The keys that each map of the grammar can have, in all versions: a key of a later version in an earlier one does no
// harm.
var (
	// An unknown key is an error in every map that a manifest needs: a misspelt keyname would otherwise have no effect,
	// and the default of the type would apply. Keys that begin with x- or tosca_ are extensions: see session.known.
	fileKeys = words(`tosca_definitions_version namespace metadata template_name template_author template_version
		description dsl_definitions repositories imports artifact_types data_types capability_types interface_types
		relationship_types node_types group_types policy_types topology_template service_template profile functions`)
	topologyKeys = words(`description metadata inputs node_templates relationship_templates groups policies outputs
		substitution_mappings workflows imperative_workflows dsl_definitions`)
	nodeKeys = words(`type description metadata directives properties attributes requirements capabilities interfaces
		artifacts node_filter copy count`)
	parameterKeys = words(`type description default value required constraints validation entry_schema key_schema status
		metadata mapping external_schema external-schema hidden`)
	outputKeys = words(`description value type required constraints validation entry_schema key_schema status metadata mapping default`)
	typeKeys   = words(`derived_from version metadata description attributes properties requirements capabilities interfaces artifacts constraints validation entry_schema key_schema mime_type file_ext
		short_name shorthand_name type_qualified_name type_uri`)
	// Only data types can be derived from scalar, so only they can have its keys.
	dataKeys    = append(words(`data_type units canonical_unit prefixes`), typeKeys...)
	importKeys  = words(`file repository namespace_prefix namespace_uri namespace url profile description metadata`)
	requireKeys = words(`node relationship capability node_filter occurrences count count_range directives optional allocation`)
	artifactKey = words(`type file repository description deploy_path version artifact_version checksum checksum_algorithm properties metadata`)
)

// words splits a table of names at white space.
func words(text string) []string { return strings.Fields(text) }
