package tosca

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// heaviest is the maximum number of instructions of a pattern: {1000} repeats the expression before it a thousand
// times. A short pattern such as (a{100}){200} would compile to more.
const heaviest = 20_000

// checkPattern compiles a pattern into t.regexps, and returns the problem with it, or "". RE2 is linear in the text,
// and in the size of the expanded pattern. It parses the pattern first, and compiles it only if its cost is known to be
// small, because the compiler allocates all instructions. All patterns of a template together can have five times as
// many. A pattern matches whole values, as in the parsers of TOSCA 1.x, so it is compiled between ^ and $.
//
// Callers must call it in every session before they match: t.regexps belongs to one session. Messages contain no part
// of the pattern, because a computed one can be secret.
func (t *session) checkPattern(bound any) string {
	text, isText := bound.(string)
	if !isText {
		return "must be text"
	}
	if _, known := t.regexps[text]; known {
		return ""
	}
	if len(text) > maxPattern {
		return fmt.Sprintf("the pattern is longer than %d bytes", maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return "is not a regular expression of RE2: see https://github.com/google/re2/wiki/Syntax"
	}
	cost := costOf(parsed)
	if cost > heaviest {
		return "the pattern is too large once its repetitions are written out"
	}
	if t.weight += cost; t.weight > 5*heaviest {
		return "the patterns of the template are too large in total"
	}
	form, err := regexp.Compile(`^(?:` + text + `)$`)
	if err != nil {
		return "is not a regular expression of RE2: see https://github.com/google/re2/wiki/Syntax"
	}
	t.regexps[text] = pattern{form, cost}
	return ""
}

// patternProblem returns the reason why a value does not match a pattern, or "". checkPattern has compiled the
// pattern in this session.
func (t *session) patternProblem(content, bound any) string {
	text, isText := content.(string)
	if !isText {
		return "is not text, so it cannot match a pattern"
	}
	used := t.regexps[bound.(string)]
	const operations = 2000 // that take as long as a step does
	t.spend(1 + used.cost*len(text)/operations)
	if used.form.MatchString(text) {
		return ""
	}
	return "does not match the pattern " + forMessage(bound, false)
}

// costOf estimates the number of instructions of an expression. The parser limits its depth. A repetition multiplies
// the cost of its expression, and a class such as [a-z0-9] counts its ranges. The result is capped, so that nested
// repetitions cannot overflow it.
func costOf(expression *syntax.Regexp) int {
	cost := 1 + len(expression.Rune)
	for _, part := range expression.Sub {
		cost += costOf(part)
	}
	if expression.Op == syntax.OpRepeat {
		cost *= max(expression.Min, expression.Max, 1)
	}
	return min(cost, 1<<30)
}
