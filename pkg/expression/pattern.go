package expression

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// What a pattern may cost: its text, the program that it becomes, and the steps that it
// may take over a value.
const (
	maxText         = 4096
	maxPatternSize  = 5000
	maxPatternSteps = 20_000_000
)

// CheckPattern refuses what is no pattern, or too large a one. It does not compile it: a
// hundred bytes can ask for a program of many megabytes.
func CheckPattern(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("has %d bytes, and a pattern may have %d", len(text), maxText)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return fmt.Errorf("is no regular expression: %w", err)
	}
	if sizeOf(parsed) > maxPatternSize {
		return fmt.Errorf("becomes a program of more than %d steps: repeat less in it", maxPatternSize)
	}
	return nil
}

// sizeOf is how many instructions an expression has, about, or more than maxPatternSize.
func sizeOf(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size = min(size+sizeOf(sub), maxPatternSize+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxPatternSize+1)
}

// Matches reports whether a pattern matches a whole value. What CheckPattern refuses matches
// nothing, and neither does a pattern for which a value would take too long.
func Matches(pattern, value string) bool {
	compiled := patterns.get(pattern, compilePattern)
	return compiled != nil && len(value)*compiled.size <= maxPatternSteps && compiled.MatchString(value)
}

type compiledPattern struct {
	*regexp.Regexp
	size int
}

var patterns cache[*compiledPattern]

// compilePattern is nil for what is no pattern.
func compilePattern(text string) *compiledPattern {
	if CheckPattern(text) != nil {
		return nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	re, err := regexp.Compile(`\A(?:` + text + `)\z`)
	if err != nil {
		return nil
	}
	return &compiledPattern{re, sizeOf(parsed)}
}
