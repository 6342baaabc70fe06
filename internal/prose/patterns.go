package prose

//prose:ok

import (
	"regexp"
	"strings"
)

// pattern is a kind of unidiomatic wording.
type pattern struct {
	id string
	// fix is the advice that is printed with a match.
	fix string
	// hints are lower-case substrings of which every match contains one. They make the scan fast.
	hints []string
	match *regexp.Regexp
	// before and after must not match the text next to a match, and within must not match the match itself. They replace
	// the lookaround assertions that package regexp does not have.
	before, after, within *regexp.Regexp
}

// patterns are searched in all kinds of text. Several patterns can share an ID.
var patterns = []pattern{
	{
		id: "people", fix: `name the actor: the client, the user, the controller; or use "no client", "any client"`,
		hints:  []string{"body", "whoever", "whom", "whoso", "him", "he", "his"},
		match:  insensitive(`\b(nobody|somebody|anybody|everybody|whoever|whomever|whosoever|himself|he|his|him)\b`),
		before: regexp.MustCompile(`/$`), after: regexp.MustCompile(`^/`),
	},
	{
		id: "told", fix: "report, list, show, notify, distinguish", hints: []string{"told"},
		match: insensitive(`\b(is|are|was|were|be|been|being|get|gets) (never |only |then |not |also |once )?told\b`),
		after: regexp.MustCompile(`^ (to|apart)\b`),
	},
	{
		id: "told", fix: "report, list, show, notify, distinguish", hints: []string{"tell"},
		match: insensitive(`\b(tells? of|tell (people|from))\b`),
	},
	{
		id: "says", fix: "describe, state, report, return, contain; or name the field", hints: []string{"says", "said", "spoke", "speak", "word"},
		match: insensitive(`\b(says|said (of|so|that|there|why|with)|speaks? of|spoke of|(has|have) no words? for|as is said)\b`),
	},
	{
		id: "says", fix: "describe, state, report, return, contain; or name the field", hints: []string{"say "},
		match:  insensitive(`\bsay (that|what|which|how|whether|why|who|whose|so|nothing|no more|it|of)\b`),
		before: insensitive(`\bto $`),
	},
	{
		id: "riddle", fix: "write the noun: the object, the live value, the held fields, the remaining elements", hints: []string{" what "},
		match: regexp.MustCompile(`\b(of|from|than|to|with|by|for|in|as|at|on|about|over|beside|under|around|and|or|but|is|are|was) what ` +
			`(is|was|are|were|has|had|have|it|they|others?|another|an?|the|that|comes|goes|stays|stands|differs|lies|lay|nobody|should|may|must|can|else)\b`),
	},
	{
		id: "riddle", fix: "write the noun: the object, the live value, the held fields, the remaining elements", hints: []string{"what "},
		match: regexp.MustCompile(`\bWhat (is|was|are|were|has|had|comes|goes|stays|stands|differs|lies|leaves|depends|belongs|they|it|we|an?|the|another|` +
			`others?|came|went|cannot|does|looks|counts|waits)\b`),
		before: regexp.MustCompile(`([?\w]|about) $`), after: regexp.MustCompile(`^[^.?!]*\?`),
	},
	{
		id: "thatof", fix: "repeat the noun, or define it directly", hints: []string{" that ", " those ", "is one "},
		match: insensitive(`\b(is|are|was|were) (only )?(that|those) (of|in|with|which|to|that|from|for|on|at|by)\b|\bis one (of|that|which) (which|whose|is|has)\b`),
	},
	{
		id: "frontedof", fix: `subject first: "managedFields does not record removals"`, hints: []string{"of "},
		match:  regexp.MustCompile(`(^|[.;:!?*|] )Of [a-z]+\b,?`),
		within: regexp.MustCompile(`Of (course\b|these,|those,)`),
	},
	{
		id: "frontedof", fix: `subject first: "managedFields does not record removals"`, hints: []string{" of "},
		match:  regexp.MustCompile(`[,;:] of (a|an|what|several|whom|one|two|others|these|those|which (only|the|nothing|all|none|one|each|some|two))\b`),
		before: regexp.MustCompile(`no$`),
	},
	{
		id: "causative", fix: "use a direct verb: records, requeues, keeps, sets", hints: []string{"has ", "have ", "having ", "had "},
		match: insensitive(`\b(has|have|having|had) (the|an?|each|every|all|its?|them|their|what|that|those|whatever|both|others?|objects?|fields?|leaves|` +
			`paths?|writes|[a-z]+s|this|some|one)( [\w'-]+){0,5}? (be|know|wait|stay|have|say|follow|get|forget|keep|look|drop|come|go|begin|tried|told|` +
			`watched|looked|handled|written again|taken|put back|sent|corrected again)\b`),
		within: insensitive(` (that|which|who|whose|and|or|to|but) .*`), after: regexp.MustCompile(`^ (been|of|in|until|time)\b`),
	},
	{
		id: "motion", fix: "is deleted, is removed, appears, arrives, remains, is kept, is set",
		hints: []string{"goes", "comes", "stays", "stands", "stood", "went", "came", "come back", " away"},
		match: insensitive(`\b(goes|comes|stays|stands|stood|went|came|come back|go away|stay away)\b`),
		after: regexp.MustCompile(`^ (from|through|before|after|up|down|out of scope|with|into effect|to sleep|in handy|to mind|first|last|stale)`),
	},
	{
		id: "letgo", fix: "release, restore, transfer, remove, correct, take ownership, adopt",
		hints: []string{"let", "give", "giving", "gets", "hand", "take", "brought"},
		match: insensitive(`\b(lets? go|letting go|let .{1,20} go\b|gives? back|given back|giving back|gets? back|hands? on|handed on|handing on|` +
			`takes? (the \w+ |it |them )off|taken off|brought back|takes? in that|taken over|takes? over (a|an|the|what|objects?|fields?|it|them|values?)|takes? (it|them) back)\b`),
	},
	{
		id: "isto", fix: `must, should, is about to; or a noun: "absent fields", "candidates for pruning"`, hints: []string{" to "},
		match: insensitive(`\b(is|are|was|were) (also |only |not |never |no longer )?to (be|stay|have|go|hold|get|come|say|know|see|look|wait|write|` +
			`correct|send|ask|keep|do|tell|read|find|live|remove|create|delete)\b`),
		before: insensitive(`(job|purpose|goal|method|way|idea|remedy|remedies|task|point|option|aim|this) $`), after: regexp.MustCompile(`^ an? (\w+ ){0,3}to\b`),
	},
	{
		id: "wish", fix: "default, policy, selects, matches, requests", hints: []string{"wish"},
		match: insensitive(`\bwish(es|ed|ing)?\b`), after: regexp.MustCompile(`^ to\b`),
	},
	{
		id: "wish", fix: "default, policy, selects, matches, requests", hints: []string{"mean"},
		match: insensitive(`\b(entr(y|ies)|selectors?|select|paths?|it|they|which|that|items?|rules?) means? ` +
			`(an? |the |one |no |two |all |every |many |any |other |several )?(objects?|resources?|fields?|elements?|kinds?)\b|` +
			`\b(objects?|resources?|fields?) (that )?(is|are|it|they|spec\.select|may be|can be)? ?(means?|meant)\b`),
		after: regexp.MustCompile(`^ to\b`),
	},
	{
		id: "archaic", fix: "except, in addition to, next to, again, otherwise, usually, if known, regardless of, recently",
		hints: []string{
			"be it", "be there", "it be", "but for", "beside", "anew", "once for", "want of", "nearly always", "nothing but", " of", "as a rule", "as far as",
			"at hand", "by chance", "ever ", "lately", "by and by",
		},
		match: insensitive(`\b(be it|be there any|though it be|but for|beside|anew|once for all|for want of|as nearly always|nothing but|` +
			`in (the|its|their) (place|stead) of|as a rule|as far as (it|that|they|is|there|can|known)|at hand|by chance|ever (less|more) (often|slowly)|` +
			`of late|lately|whatever (its|their|the|is|has|else)|by and by|wherever (it|they) (is|are))\b`),
	},
	{
		id: "archaic", fix: "nevertheless, anyway", hints: []string{"all the same"},
		match: insensitive(`\ball the same\b`), after: regexp.MustCompile(`^ \w+s\b`),
	},
	{
		id: "passer", fix: `name the owner: "owned by another Application", "managed by this Application"`,
		hints: []string{"'s", "ours", "yours", "theirs", "mine", "others'"},
		match: insensitive(`\b(another (one|owner|client|object|Application)'s|(of|as) (ours|yours|theirs|mine)\b|is (ours|theirs|mine|another's)|nobody's|` +
			`others' (doing|own)|(client|user|spec|writer|nobody|else)'s (doing|choice|own doing))`),
	},
	{
		id: "apposed", fix: `use "only", "entire", "separate", or delete it`, hints: []string{"whole", "both", ", all of", " us", "else", "other", "more"},
		match: insensitive(`, (whole|both|all of (it|them)|be(fore|side) us)[.,;:]|\band (to )?(nothing|nobody|none) (else|other|more)\b`),
	},
	{
		id: "apposed", fix: `use "only", "entire", "separate", or delete it`, hints: []string{" alone"},
		match: insensitive(`\b(that|this|which|it|them|[a-z]+s|these) alone\b`), after: regexp.MustCompile(`^ is`),
	},
}

// These regular expressions find functions that are documented as things, and types and functions with odd names.
var (
	definition   = regexp.MustCompile(`^(,? [^.]{0,40},)? (is|are|was|has|have|stands for|does what) `)
	noDefinition = regexp.MustCompile(`^ (is|are) (called|used|invoked|run|safe|intended|meant|a helper|a wrapper|like|similar|equivalent|deprecated|` +
		`the same as|a convenience|responsible|not|implemented|only)\b`)
	oddType  = regexp.MustCompile(`(ing|[a-z]ed)$`)
	goodType = regexp.MustCompile(`(?i)(mapping|setting|binding|string|ring|embedding|warning|finding|pairing|encoding|listing|rendering|nested|shared|` +
		`unstructured|informed|indexed|cached|delegating|namespaced|typed|managed|builtin|feed|thing|king)$`)
)

// oddFunctions are lower-case names of functions that are neither verbs nor nouns.
var oddFunctions = setOf(`of by at in on as also both own mine ours whose formerly now once yes no some any others left gone goes comes came stand stands
	stay stays says said say tell tells told takes gives letgo letsgo handon handto would why whyof wouldbe wouldgo neverwas asfaras unheard already
	beside plainly sooner turned turnedon wants over under hands takesover givesback givenback asmade leftastheyare asreported heldof sayof meant means
	counts knows asked`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

func insensitive(expression string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + expression) }

// find returns the ranges of all matches in a text. lower is the text in lower case.
func (p *pattern) find(text, lower string) (found [][]int) {
	if !containsAny(lower, p.hints) {
		return nil
	}
	for _, at := range p.match.FindAllStringIndex(text, -1) {
		if !p.isExcluded(text, at[0], at[1]) {
			found = append(found, at)
		}
	}
	return found
}

// isExcluded reports whether the context of a match, or the match itself, makes it idiomatic.
func (p *pattern) isExcluded(text string, begin, end int) bool {
	return p.before != nil && p.before.MatchString(text[max(0, begin-20):begin]) ||
		p.after != nil && p.after.MatchString(text[end:]) ||
		p.within != nil && p.within.MatchString(text[begin:end])
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
