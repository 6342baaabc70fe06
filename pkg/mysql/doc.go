// Package mysql is the template of the kind Mysql: one MySQL server of the official image, with its volume, Services,
// credentials and probes.
//
// The package is pure. The content of the Pod is in files: two shell scripts and the rendered my.cnf; `make
// test-mysql` runs them with a real server. The rules are in docs/mysql.md.
//
// It keeps these invariants: at most one Pod uses the volume, and the volume never shrinks. A version of an earlier
// series never opens the data, if both tags have numbers. The controller generates the passwords, which are never in
// a manifest.
//
//	rendered, err := mysql.Template{}.Render(template.Input{Object: object})
package mysql
