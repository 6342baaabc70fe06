// Package prose measures patterns of unidiomatic English in the repository: in comments, strings, Markdown, the YAML
// files of deploy, identifiers, and names of tests and golden cases. Its test compares the rates with baseline.json and fails if one has risen. A rate is
// the number of matches per 1,000 words, or per 1,000 identifiers.
//
// The package cannot judge a sentence. Each pattern has false positives, so do not aim for zero. A source line that
// contains the comment "prose:ok" is not measured, and neither is a file with the directive //prose:ok.
//
//	go test ./internal/prose -v -show pkg/plan   # list all matches below a directory
//	go test ./internal/prose -update             # lower baseline.json after an improvement
package prose
