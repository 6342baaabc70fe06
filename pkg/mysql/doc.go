// Package mysql is the template of the kind Mysql: one MySQL server of the official image, with its volume,
// Services, credentials and probes.
//
// The package is pure. The content of the Pod is in files: two shell scripts and the rendered my.cnf; `make
// test-mysql` runs them with a real server. The rules are in docs/mysql.md.
//
//	rendered, err := mysql.Template{}.Render(template.Input{Object: object})
package mysql
